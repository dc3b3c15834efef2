/** Generates the OpenAPI 3.1 document from the schemas that validate requests. */
import { z } from 'zod';
import type { AnyRoute } from './route.ts';

/** Loose, because some errors also name the server (API-018). */
const errorSchema = z.looseObject({
  detail: z.string(),
  error_code: z.string(),
  context: z.record(z.string(), z.unknown()).optional(),
});

const validationSchema = z.object({
  detail: z.array(z.object({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string(), type: z.string() })),
  error_code: z.literal('VALIDATION_ERROR'),
});

export function describeApi(routes: readonly AnyRoute[], version: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    Object.assign(paths[route.path] ?? {}, { [route.method.toLowerCase()]: operation(route) });
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'mcp-aggregator',
      version,
      description: 'One endpoint in front of many MCP servers.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: toSchema(errorSchema, 'output'), ValidationError: toSchema(validationSchema, 'output') },
    },
  };
}

function operation(route: AnyRoute): Record<string, unknown> {
  return {
    summary: route.summary,
    operationId: operationId(route),
    tags: [route.tag],
    ...(route.role === 'public' ? { security: [] } : { 'x-role': route.role }),
    ...(route.unbound ? { 'x-unbound': true } : {}),
    parameters: [...parameters(route.params, 'path'), ...parameters(route.query, 'query')],
    ...(route.body === undefined
      ? {}
      : {
          requestBody: {
            required: !route.body.safeParse(undefined).success,
            content: { 'application/json': { schema: toSchema(route.body, 'input') } },
          },
        }),
    responses: responses(route),
  };
}

function operationId({ method, path }: AnyRoute): string {
  const words = path.replace(/^\/(api\/v1\/)?/, '').split(/[/{}_.-]+/);
  return [method.toLowerCase(), ...words.filter(Boolean)].map((word, i) => (i === 0 ? word : capital(word))).join('');
}

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

function parameters(schema: z.ZodType | undefined, place: 'path' | 'query'): unknown[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = toSchema(schema, 'input') as {
    properties?: Record<string, { description?: string }>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(property.description === undefined ? {} : { description: property.description }),
    schema: property,
  }));
}

function responses(route: AnyRoute): Record<string, unknown> {
  const described = Object.entries(route.answers).map(([status, { description, schema, contentType, streamed }]) => {
    const reference = Number(status) >= 400 ? { $ref: '#/components/schemas/Error' } : undefined;
    const plain = schema === undefined ? reference : toSchema(schema, 'output');
    const content: Record<string, unknown> = {
      ...(plain === undefined ? {} : { [contentType ?? 'application/json']: { schema: plain } }),
      ...(streamed === undefined ? {} : { 'text/event-stream': { schema: toSchema(streamed, 'output') } }),
    };
    return [status, Object.keys(content).length === 0 ? { description } : { description, content }] as [
      string,
      unknown,
    ];
  });
  const invalid = route.params ?? route.query ?? route.body;
  if (invalid !== undefined) described.push(['422', reply('The request is invalid', 'ValidationError')]);
  if (route.role !== 'public') {
    described.push(
      ['401', reply('A token is required', 'Error')],
      ['403', reply('The role of the token does not allow this', 'Error')],
    );
  }
  if (route.role !== 'public' && !('503' in route.answers)) {
    described.push(['503', reply('The database is unavailable; see Retry-After', 'Error')]);
  }
  if (route.role !== 'public') {
    const calls = route.role === 'caller' ? 'Rate limit exceeded, or too' : 'Too';
    described.push(['429', reply(`${calls} many failed sign-ins from this address; see Retry-After`, 'Error')]);
  }
  return Object.fromEntries(described);
}

const reply = (description: string, schema: string) => ({
  description,
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
});

function toSchema(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return json;
}
