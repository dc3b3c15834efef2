/** HTTP to one server over kept-alive connections, and its event streams. */
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { type Dispatcher, Pool } from 'undici';
import { isMessage, type RpcMessage } from '../json-rpc.ts';
import { AccessDenied, ConnectionLost } from './session.ts';

export interface WireOptions {
  url: string;
  headers: Record<string, string>;
  connectTimeoutMs: number;
  maxMessageBytes: number;
  credentials?: Credentials;
}

/** Credentials that change over time (OAuth): asked for before every request, told of every refusal. */
export interface Credentials {
  headers(): Promise<Record<string, string>>;
  /** True when there are other ones now, so that the request is worth sending again. */
  refused(refusal: {
    status: number;
    challenge: string | undefined;
    sent: Record<string, string>;
    attempt: number;
  }): Promise<boolean>;
}

type Body = AsyncIterable<Buffer> & { text(): Promise<string>; dump(): Promise<void>; destroy(error?: Error): unknown };

export interface WireAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Body;
}

export interface Wire {
  readonly url: URL;
  send(method: 'GET' | 'POST' | 'DELETE', options: SendOptions): Promise<WireAnswer>;
  close(): Promise<void>;
}

export interface SendOptions {
  headers?: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
  /** Instead of the server's own path, on the same origin. */
  path?: string;
}

const maxConnections = 256;
/** A server that refuses every token must not make us ask for tokens for ever. */
const mostRefusals = 2;

export function createWire(options: WireOptions): Wire {
  const url = new URL(options.url);
  const path = `${url.pathname}${url.search}`;
  // Long answers are bounded by the call's own timeout, so the pool has none.
  const pool = new Pool(url.origin, {
    connections: maxConnections,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000,
    connect: { timeout: options.connectTimeoutMs },
  });
  const fixed = lowerCase(options.headers);

  async function exchange(request: Dispatcher.RequestOptions): Promise<WireAnswer> {
    try {
      const { statusCode, headers, body } = await pool.request(request);
      return { status: statusCode, headers, body };
    } catch (error) {
      if (request.signal instanceof AbortSignal && request.signal.aborted) throw request.signal.reason;
      throw toConnectionLost(error, url);
    }
  }

  return {
    url,
    async send(method, { headers, body, signal, path: otherPath }) {
      const { credentials } = options;
      for (let attempt = 0; ; attempt += 1) {
        const sent = credentials === undefined ? {} : await credentials.headers();
        const answer = await exchange({
          method,
          path: otherPath ?? path,
          headers: { ...fixed, ...sent, ...headers },
          body,
          signal,
        });
        const { status } = answer;
        if (credentials === undefined || attempt === mostRefusals || (status !== 401 && status !== 403)) return answer;
        const challenge = header(answer, 'www-authenticate');
        if (!(await credentials.refused({ status, challenge, sent, attempt }))) return answer;
        await answer.body.dump();
      }
    },
    async close() {
      await pool.destroy();
    },
  };
}

const neverSent = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

const explained: Record<string, string> = {
  ECONNREFUSED: 'nothing listens at',
  ENOTFOUND: 'there is no such host:',
  EAI_AGAIN: 'the host name could not be looked up:',
  EHOSTUNREACH: 'the network does not reach',
  ENETUNREACH: 'the network does not reach',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time to',
  ECONNRESET: 'the connection was cut by',
  UND_ERR_SOCKET: 'the connection was cut by',
};

export function toConnectionLost(error: unknown, url: URL): ConnectionLost {
  const code = codeOf(error);
  const what = explained[code] ?? 'the connection failed to';
  return new ConnectionLost(`${what} ${url.host}`, neverSent.has(code) ? 'no' : 'maybe', error);
}

function codeOf(error: unknown): string {
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current && typeof current.code === 'string') return current.code;
    if (current instanceof AggregateError && current.errors[0] !== undefined) return codeOf(current.errors[0]);
  }
  return '';
}

export function contentType(answer: WireAnswer): string {
  const value = answer.headers['content-type'];
  return (Array.isArray(value) ? value[0] : value)?.split(';')[0]?.trim().toLowerCase() ?? '';
}

export function header(answer: WireAnswer, name: string): string | undefined {
  const value = answer.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

export function refuseDenied(answer: WireAnswer): void {
  if (answer.status !== 401 && answer.status !== 403) return;
  void answer.body.dump();
  throw new AccessDenied(answer.status, header(answer, 'www-authenticate'));
}

/** The whole body, unless it is larger than a message may be. */
export async function readText(body: Body, limit: number): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of body) {
    length += part.length;
    if (length > limit) {
      throw new ConnectionLost(`the server sent a message of more than ${limit} bytes`, 'maybe');
    }
    parts.push(part);
  }
  return parts.length === 1 && parts[0] !== undefined
    ? parts[0].toString('utf8')
    : Buffer.concat(parts).toString('utf8');
}

export function parseMessages(text: string): RpcMessage[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new ConnectionLost('the server answered with something that is not JSON', 'maybe', error);
  }
  const messages = Array.isArray(parsed) ? parsed : [parsed];
  if (!messages.every(isMessage))
    throw new ConnectionLost('the server answered with something that is not JSON-RPC', 'maybe');
  return messages;
}

/** Feeds every event to `onEvent` until the stream ends; `onRetry` hears how long the server wants us to wait. */
export async function readEvents(
  body: Body,
  limit: number,
  onEvent: (event: EventSourceMessage) => void,
  onRetry?: (ms: number) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let sinceEvent = 0;
  const parser = createParser({
    onEvent(event) {
      sinceEvent = 0;
      onEvent(event);
    },
    onRetry,
  });
  for await (const chunk of body) {
    sinceEvent += chunk.length;
    if (sinceEvent > limit) throw new ConnectionLost(`the server sent a message of more than ${limit} bytes`, 'maybe');
    parser.feed(decoder.decode(chunk, { stream: true }));
  }
}

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
