/** Clients of every revision in front of the aggregator: the official SDK, and bare HTTP where the SDK hides things. */
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createParser } from 'eventsource-parser';
import type { Body, TestApp } from '../support/app.ts';
import { modernRequest } from '../support/modern-request.ts';

export const clientRevisions = ['2024-11-05', '2025-06-18', '2025-11-25', '2026-07-28'] as const;
export type ClientRevision = (typeof clientRevisions)[number];

export interface ClientOptions {
  revision?: ClientRevision;
  token?: string;
  /** `/mcp` unless another endpoint is meant. */
  path?: string;
  capabilities?: Record<string, unknown>;
  name?: string;
  /** Before it connects: handlers. */
  prepare?: (client: Client) => void;
  manualInput?: boolean;
}

export const everyCapability = { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } };

export async function connectClient(
  app: Pick<TestApp, 'url' | 'adminToken'>,
  options: ClientOptions = {},
): Promise<Client> {
  const { revision = '2025-11-25', token = app.adminToken, capabilities = {}, name = 'test' } = options;
  const modern = revision === '2026-07-28';
  const client = new Client(
    { name, version: '1' },
    {
      capabilities,
      versionNegotiation: { mode: modern ? { pin: revision } : 'legacy' },
      ...(modern ? {} : { supportedProtocolVersions: [revision] }),
      ...(options.manualInput ? { inputRequired: { autoFulfill: false } } : {}),
    },
  );
  options.prepare?.(client);
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const path = options.path ?? (revision === '2024-11-05' ? '/sse' : '/mcp');
  const url = new URL(`${app.url}${path}`);
  await client.connect(
    revision === '2024-11-05'
      ? new SSEClientTransport(url, { requestInit })
      : new StreamableHTTPClientTransport(url, { requestInit }),
  );
  return client;
}

/** Answers whatever a server asks, with the client's own name in it. */
export function answering(name: string): (client: Client) => void {
  return (client) => {
    client.setRequestHandler('sampling/createMessage', () => ({
      model: `model of ${name}`,
      role: 'assistant',
      content: { type: 'text', text: `sampled by ${name}` },
    }));
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name } }));
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: `file:///${name}`, name }] }));
  };
}

export interface RawAnswer {
  status: number;
  headers: Headers;
  /** The JSON body, or undefined. */
  body: Body;
  /** The messages of an event stream, read to its end. */
  events: Body[];
}

export interface RawOptions {
  token?: string | null;
  headers?: Record<string, string>;
  path?: string;
  signal?: AbortSignal;
}

export async function post(app: TestApp, message: unknown, options: RawOptions = {}): Promise<RawAnswer> {
  const response = await open(app, 'POST', message, options);
  const { status, headers } = response;
  if ((headers.get('content-type') ?? '').startsWith('text/event-stream')) {
    const events: Body[] = [];
    for await (const { data } of readEvents(response)) if (data !== '') events.push(JSON.parse(data));
    return { status, headers, body: undefined, events };
  }
  const text = await response.text();
  return { status, headers, body: text === '' ? undefined : JSON.parse(text), events: [] };
}

export function open(app: TestApp, method: string, message: unknown, options: RawOptions = {}): Promise<Response> {
  const { token = app.adminToken, path = '/mcp', signal } = options;
  return fetch(`${app.url}${path}`, {
    method,
    signal: signal ?? null,
    headers: {
      ...(message === undefined ? {} : { 'content-type': 'application/json' }),
      accept: 'application/json, text/event-stream',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...options.headers,
    },
    body: message === undefined ? null : typeof message === 'string' ? message : JSON.stringify(message),
  });
}

export interface RawEvent {
  id: string | undefined;
  data: string;
}

export async function* readEvents(response: Response, onComment?: (comment: string) => void): AsyncGenerator<RawEvent> {
  let parsed: RawEvent[] = [];
  const parser = createParser({ onEvent: ({ id, data }) => parsed.push({ id, data }), onComment });
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    const ready = parsed;
    parsed = [];
    yield* ready;
  }
}

export async function* messagesOf(response: Response): AsyncGenerator<Body, Body> {
  for await (const { data } of readEvents(response)) if (data !== '') yield JSON.parse(data);
}

let nextId = 1;

/** A 2026-07-28 request with its headers. */
export async function postModern(
  app: TestApp,
  method: string,
  params: Record<string, Body> = {},
  options: RawOptions & { capabilities?: Record<string, unknown>; meta?: Record<string, unknown> } = {},
): Promise<RawAnswer> {
  const { message, headers } = modernRequest(method, params, options);
  return await post(app, message, { ...options, headers: { ...headers, ...options.headers } });
}

export interface RawSession {
  id: string;
  request(method: string, params?: Record<string, unknown>, options?: RawOptions): Promise<RawAnswer>;
  notify(method: string, params?: Record<string, unknown>): Promise<RawAnswer>;
  headers: Record<string, string>;
}

/** `initialize` by hand. */
export async function openSession(
  app: TestApp,
  options: RawOptions & { revision?: string; capabilities?: Record<string, unknown> } = {},
): Promise<RawSession> {
  const { revision = '2025-11-25', capabilities = {} } = options;
  const { status, headers, body } = await post(
    app,
    {
      jsonrpc: '2.0',
      id: nextId++,
      method: 'initialize',
      params: { protocolVersion: revision, capabilities, clientInfo: { name: 'raw', version: '1' } },
    },
    options,
  );
  const id = headers.get('mcp-session-id');
  if (status !== 200 || id === null) throw new Error(`initialize: ${status} ${JSON.stringify(body)}`);
  const own = { 'mcp-session-id': id, 'mcp-protocol-version': revision };
  const send = (message: unknown, more: RawOptions = {}) =>
    post(app, message, { ...options, ...more, headers: { ...own, ...more.headers } });
  const session: RawSession = {
    id,
    headers: own,
    request: (method, params = {}, more) => send({ jsonrpc: '2.0', id: nextId++, method, params }, more),
    notify: (method, params = {}) => send({ jsonrpc: '2.0', method, params }),
  };
  await session.notify('notifications/initialized');
  return session;
}

export async function createToken(app: TestApp, token: Record<string, unknown>): Promise<string> {
  const { body } = await app.api('POST', '/api/v1/tokens', { name: 'a token', ...token });
  return body.token;
}
