/** Writes docs/api.md from the OpenAPI document, and docs/configuration.md from the settings. */
import { writeFileSync } from 'node:fs';
import { startAggregator } from '../test/support/aggregator-process.ts';
import { configurationPage } from './settings-table.ts';

interface Parameter {
  name: string;
  in: string;
  required: boolean;
  description?: string;
  schema: { type?: string; enum?: unknown[]; default?: unknown };
}

interface Operation {
  summary: string;
  tags: string[];
  'x-role'?: string;
  'x-unbound'?: boolean;
  parameters: Parameter[];
  requestBody?: { content: { 'application/json': { schema: BodySchema } } };
  responses: Record<string, { description: string }>;
}

interface BodySchema {
  properties?: Record<string, { type?: string; description?: string; enum?: unknown[]; default?: unknown }>;
  required?: string[];
  anyOf?: BodySchema[];
  oneOf?: BodySchema[];
}

const docs = (name: string) => new URL(`../docs/${name}`, import.meta.url);
const cell = (text: unknown) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ');

writeFileSync(docs('configuration.md'), configurationPage());
writeFileSync(docs('api.md'), api(await loadDocument()));

async function loadDocument(): Promise<Record<string, Record<string, Operation>>> {
  const { url, token, stop } = await startAggregator();
  const response = await fetch(`${url}/openapi.json`, { headers: { authorization: `Bearer ${token}` } });
  const { paths } = (await response.json()) as { paths: Record<string, Record<string, Operation>> };
  await stop();
  return paths;
}

function api(paths: Record<string, Record<string, Operation>>): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const tags = [...new Set(operations.flatMap(({ operation }) => operation.tags))];
  const sections = tags.flatMap((tag) => [
    `## ${tag.charAt(0).toUpperCase()}${tag.slice(1)}`,
    '',
    ...operations.filter(({ operation }) => operation.tags.includes(tag)).flatMap(describeOperation),
  ]);
  return `${[
    '# REST API',
    '',
    'Made by `npm run reference` from the OpenAPI document that a running aggregator serves at `/openapi.json`.',
    'Every path but the public ones needs `Authorization: Bearer <token>`; a role includes the ones before it: viewer, caller, admin.',
    'An error is `{ "detail", "error_code" }`; with status 422 `detail` is a list of what is wrong and where.',
    '',
    ...sections,
  ]
    .join('\n')
    .trimEnd()}\n`;
}

function describeOperation({
  method,
  path,
  operation,
}: {
  method: string;
  path: string;
  operation: Operation;
}): string[] {
  const role = operation['x-role'];
  const body = operation.requestBody?.content['application/json'].schema;
  const answers = Object.entries(operation.responses).map(([status, { description }]) => `${status} ${description}`);
  return [
    `### ${method} ${path}`,
    '',
    `${operation.summary}. ${role === undefined ? 'Public.' : `Role: ${role}${operation['x-unbound'] ? ', with a token that is not limited to servers or a profile' : ''}.`}`,
    '',
    ...table(
      operation.parameters.map(({ name, in: place, required, description = '', schema }) => [
        `\`${name}\``,
        `${place}${required ? ', required' : ''}`,
        [description, limits(schema)].filter(Boolean).join('; '),
      ]),
    ),
    ...table(body === undefined ? [] : bodyRows(body)),
    `Answers: ${answers.join(' · ')}`,
    '',
  ];
}

function bodyRows(schema: BodySchema): string[][] {
  const variants = schema.anyOf ?? schema.oneOf;
  const rows = (variants ?? [schema]).flatMap(({ properties = {}, required = [] }) =>
    Object.entries(properties).map(([name, property]) => [
      `\`${name}\``,
      `body${required.includes(name) && variants === undefined ? ', required' : ''}`,
      [property.description ?? '', limits(property)].filter(Boolean).join('; '),
    ]),
  );
  const byName = new Map(rows.map((row) => [row[0], row]));
  return [...byName.values()];
}

function limits({
  type,
  enum: choices,
  default: preset,
}: {
  type?: string;
  enum?: unknown[];
  default?: unknown;
}): string {
  const what = choices === undefined ? type : `one of ${choices.map((choice) => `\`${String(choice)}\``).join(', ')}`;
  const start = preset === undefined ? undefined : `default \`${JSON.stringify(preset)}\``;
  return [what, start].filter((part) => part !== undefined).join(', ');
}

function table(rows: string[][]): string[] {
  if (rows.length === 0) return [];
  return ['| name | where | |', '|---|---|---|', ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`), ''];
}
