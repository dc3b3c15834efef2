/** What is sent: one request each, over REST and over MCP of both eras. */

import { modernMeta } from '../../test/support/modern-request.ts';
import type { Random } from '../chaos/random.ts';
import type { Json, Values } from './values.ts';

export interface Message {
  kind: 'REST' | 'MCP, legacy' | 'MCP, modern' | 'import' | 'backup';
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
}

export interface OpenApi {
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: { name: string; in: string; schema: object }[];
        requestBody?: { content: Record<string, { schema: object }> };
      }
    >
  >;
  components: { schemas: Record<string, object> };
}

const asJson = { 'content-type': 'application/json' };
/** It reads the configuration files of this machine and starts what they name. */
const leftOut = /import\/found|\/aggregator\/events$/;

export interface MessageSource {
  document: OpenApi;
  /** As the aggregator exports it. */
  backup: Json;
  /** Of a session that was opened properly. */
  session(): string;
}

export function createMessages(random: Random, values: Values, { document, backup, session }: MessageSource) {
  const resolve = (ref: string) =>
    (document.components.schemas[ref.split('/').at(-1) ?? ''] ?? {}) as { [key: string]: unknown };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    leftOut.test(path)
      ? []
      : Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );

  function rest(): Message {
    const { path, method, operation } = random.pick(operations);
    const filled = path.replace(/\{\w+\}/g, () => encodeURIComponent(wellFormed(values.word())) || 'x');
    const search = (operation.parameters ?? [])
      .filter((parameter) => parameter.in === 'query' && random() < 0.5)
      .map(
        ({ name, schema }) =>
          `${name}=${encodeURIComponent(wellFormed(asText(random() < 0.5 ? values.odd() : values.fromSchema(schema as never, resolve))))}`,
      );
    const schema = operation.requestBody?.content['application/json']?.schema;
    const body = schema === undefined ? undefined : serialise(bent(values.fromSchema(schema as never, resolve)));
    return {
      kind: 'REST',
      method,
      path: `${filled}${search.length > 0 ? `?${search.join('&')}` : ''}`,
      headers: body === undefined ? {} : asJson,
      body,
    };
  }

  function mcp(): Message {
    const isModern = random() < 0.5;
    const method = random.pick(methods);
    const params = { ...samples[method], ...(isModern ? { _meta: fuzzMeta } : {}) };
    const body = bent({ jsonrpc: '2.0', id: 1, method, params } as Json);
    const headers = {
      ...asJson,
      accept: 'application/json, text/event-stream',
      ...(isModern ? { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method } : {}),
      ...(isModern ? {} : { 'mcp-session-id': random() < 0.05 ? 'not-a-session' : session() }),
    };
    return {
      kind: isModern ? 'MCP, modern' : 'MCP, legacy',
      method: 'POST',
      path: random.pick(['/mcp', '/mcp/servers/good', '/mcp/profiles/none']),
      headers,
      body: serialise(body),
    };
  }

  function configuration(): Message {
    const kind = random() < 0.5 ? 'import' : 'backup';
    const path = kind === 'import' ? '/api/v1/aggregator/servers/import' : '/api/v1/aggregator/backup';
    return {
      kind,
      method: 'POST',
      path,
      headers: asJson,
      body: serialise(bent(kind === 'import' ? clientConfig : backup)),
    };
  }

  const bent = (value: Json): Json => (random() < 0.15 ? value : values.bend(value));
  /** Now and then a body that is no JSON at all. */
  const serialise = (value: Json): string => {
    const text = JSON.stringify(value);
    return random() < 0.03 ? text.slice(0, Math.floor(random() * text.length)) : text;
  };

  return { next: (): Message => random.pick([rest, rest, mcp, mcp, configuration])() };
}

const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));
const wellFormed = (text: string): string => text.toWellFormed().slice(0, 2_000);

const fuzzMeta = modernMeta({}, { name: 'fuzz', version: '1' });

const samples: Record<string, { [key: string]: Json }> = {
  initialize: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'fuzz', version: '1' } },
  'server/discover': {},
  ping: {},
  'tools/list': { cursor: 'x' },
  'tools/call': { name: 'good__echo', arguments: { message: 'hello' } },
  'resources/list': {},
  'resources/read': { uri: 'notes://one' },
  'resources/templates/list': {},
  'resources/subscribe': { uri: 'notes://one' },
  'prompts/list': {},
  'prompts/get': { name: 'summary', arguments: {} },
  'completion/complete': { ref: { type: 'ref/prompt', name: 'summary' }, argument: { name: 'a', value: 'b' } },
  'logging/setLevel': { level: 'info' },
  'tasks/get': { taskId: 'x' },
  'subscriptions/listen': { notifications: { toolsListChanged: true } },
};
const methods = Object.keys(samples);

const clientConfig: Json = {
  mcpServers: {
    one: { command: 'no-such-program', args: ['--a'], env: { KEY: 'value' } },
    two: { url: 'http://127.0.0.1:9/mcp', headers: { authorization: 'Bearer x' } },
    three: { type: 'sse', url: 'http://127.0.0.1:9/sse', disabled: true },
  },
  serverRules: [{ pattern: 'docs', servers: ['one'] }],
};
