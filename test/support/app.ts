/** The real app in this process, on a database of its own, with every answer held against the OpenAPI document. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createParser } from 'eventsource-parser';
import { createApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/log.ts';
import { createTestDatabase, type TestDatabase } from './databases.ts';
import { type Document, findUndescribed } from './openapi.ts';

// biome-ignore lint/suspicious/noExplicitAny: an answer's shape is what a test asserts, not what it assumes
export type Body = any;

export interface Answer {
  status: number;
  body: Body;
  headers: Headers;
}

export interface CallOptions {
  /** null sends none. */
  token?: string | null;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface TestApp {
  url: string;
  adminToken: string;
  dataDir: string;
  database: TestDatabase;
  /** Everything that was logged, one JSON record per line. */
  log: string[];
  api(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answer>;
  /** A stream of the live events, from here on. */
  events(token?: string, query?: string): Promise<EventStream>;
  /** The events since the start. */
  seen: EventStream;
  /** Registers a server and returns its id. */
  register(name: string, connection: Connection, more?: Record<string, unknown>): Promise<string>;
  /** Registers a server and waits until its tools are known. */
  add(name: string, connection: Connection, more?: Record<string, unknown>): Promise<string>;
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<Answer>;
  server(idOrName: string): Promise<Body>;
  /** Waits until the server is in this state; its details. */
  untilStatus(idOrName: string, status: string): Promise<Body>;
  close(): Promise<void>;
}

export type Connection = { command: string; args?: string[]; env?: Record<string, string> } | { url: string } | Http;
type Http = { base_url: string; headers?: Record<string, string>; oauth?: Record<string, unknown> };

/** Short times, so that nothing in a test waits for what a person would wait for. */
const environment = {
  MCP_AGGREGATOR_HOST: '127.0.0.1',
  MCP_AGGREGATOR_PORT: '0',
  MCP_AGGREGATOR_LOG_LEVEL: 'debug',
  MCP_AGGREGATOR_CONNECTION_TIMEOUT: '10',
  MCP_AGGREGATOR_REQUEST_TIMEOUT: '10',
  MCP_AGGREGATOR_DRAIN_TIMEOUT: '5',
  MCP_AGGREGATOR_SHUTDOWN_TIMEOUT: '0.5',
  MCP_CREDENTIAL_KEY: randomBytes(32).toString('base64'),
  PATH: process.env.PATH,
};

/** The same for every app of one version. */
let document: Promise<Document> | undefined;

export async function startApp(
  overrides: Record<string, string | undefined> = {},
  given?: { database?: TestDatabase; dataDir?: string },
): Promise<TestApp> {
  const database = given?.database ?? (await createTestDatabase());
  const adminToken = overrides.MCP_AGGREGATOR_ADMIN_TOKEN ?? `admin-${randomBytes(16).toString('hex')}`;
  const config = loadConfig({
    ...environment,
    MCP_AGGREGATOR_DATA_DIR: given?.dataDir ?? database.dataDirectory,
    MCP_AGGREGATOR_ADMIN_TOKEN: adminToken,
    DATABASE_URL: database.url,
    ...overrides,
  });
  const log: string[] = [];
  const app = await createApp(
    config,
    createLog(config.logLevel, { destination: { write: (line) => void log.push(line) } }),
  );
  const streams: EventStream[] = [];

  async function api(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Answer> {
    const { token = adminToken, headers = {}, signal } = options;
    const response = await fetch(`${app.url}${path}`, {
      method,
      signal,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await response.text();
    const parsed: Body = text === '' ? undefined : JSON.parse(text);
    const problem = findUndescribed(described, { method, path, status: response.status, body: parsed });
    assert.equal(problem, undefined, `${method} ${path} → ${response.status} ${text.slice(0, 500)}`);
    return { status: response.status, body: parsed, headers: response.headers };
  }

  async function events(token = adminToken, query = ''): Promise<EventStream> {
    const stream = await openEvents(`${app.url}/api/v1/aggregator/events${query}`, token);
    streams.push(stream);
    return stream;
  }

  async function register(name: string, connection: Connection, more: Record<string, unknown> = {}): Promise<string> {
    const answer = await api('POST', '/api/v1/aggregator/servers', { ...toRegistration(name, connection), ...more });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body.id;
  }

  document ??= fetch(`${app.url}/openapi.json`, { headers: { authorization: `Bearer ${adminToken}` } }).then(
    async (response) => (await response.json()) as Document,
  );
  const described = await document;
  const seen = await events();

  return {
    url: app.url,
    adminToken,
    dataDir: config.dataDir,
    database,
    log,
    api,
    events,
    seen,
    register,
    async add(name, connection, more) {
      const id = await register(name, connection, more);
      await seen.waitFor('server.discovered', (event) => event.server_id === id);
      await seen.waitFor('server.status', (event) => event.server_id === id && event.status === 'CONNECTED');
      return id;
    },
    call: (name, args = {}, options) => api('POST', '/api/v1/tools/call', { name, arguments: args }, options),
    server: async (id) => (await api('GET', `/api/v1/aggregator/servers/${id}`)).body,
    async untilStatus(id, status) {
      for (;;) {
        const from = seen.all.length;
        const { body } = await api('GET', `/api/v1/aggregator/servers/${id}`);
        if (body.status === status) return body;
        await seen.waitFor('server.status', undefined, from);
      }
    },
    async close() {
      for (const stream of streams) stream.close();
      await app.close();
      if (given?.database === undefined) await database.close();
    },
  };
}

let visitors = 0;

/** A header that makes a request come from an address of its own, so that its failure is not one of many. */
export function anotherAddress(): Record<string, string> {
  visitors += 1;
  return { 'x-forwarded-for': `10.${visitors >> 16}.${(visitors >> 8) & 255}.${visitors & 255}` };
}

/** The setting that makes `anotherAddress` count. */
export const behindProxy = { MCP_AGGREGATOR_TRUSTED_PROXIES: 'loopback' };

export function toRegistration(name: string, config: Connection) {
  const transport_type = 'command' in config ? 'STDIO' : 'url' in config ? 'SSE' : 'HTTP';
  return { name, transport_type, connection_config: config };
}

export interface EventStream {
  readonly all: { name: string; payload: Body }[];
  /** The first event that fits, of those after the first `from`, whether it came already or is still to come. */
  waitFor(name: string, fits?: (payload: Body) => boolean, from?: number): Promise<Body>;
  close(): void;
}

const patienceMs = 30_000;

async function openEvents(url: string, token: string): Promise<EventStream> {
  const ended = new AbortController();
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` }, signal: ended.signal });
  assert.equal(response.status, 200);
  const all: EventStream['all'] = [];
  const listeners = new Set<(event: { name: string; payload: Body }) => void>();
  const parser = createParser({
    onEvent({ event = 'message', data }) {
      const told = { name: event, payload: JSON.parse(data) };
      all.push(told);
      for (const listener of listeners) listener(told);
    },
  });
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
  })().catch(() => undefined); // the stream ends with the app, or when the test closes it

  function listen(name: string, fits: (payload: Body) => boolean): Promise<Body> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        listeners.delete(hear);
        const names = all.map((event) => `${event.name} ${JSON.stringify(event.payload)}`);
        reject(new Error(`No ${name} that fits within ${patienceMs} ms; seen:\n${names.join('\n')}`));
      }, patienceMs);
      const hear = (event: { name: string; payload: Body }) => {
        if (event.name !== name || !fits(event.payload)) return;
        clearTimeout(timer);
        listeners.delete(hear);
        resolve(event.payload);
      };
      listeners.add(hear);
    });
  }

  return {
    all,
    async waitFor(name, fits = () => true, from = 0) {
      const past = all.slice(from).find((event) => event.name === name && fits(event.payload));
      return past === undefined ? await listen(name, fits) : past.payload;
    },
    close: () => ended.abort(),
  };
}
