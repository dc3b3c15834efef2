/** HTTP to one server over kept-alive connections, and its event streams. */
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Dispatcher, Pool as UndiciPool } from 'undici';
import type { CancelSignal } from '../cancellation.ts';
import { AppError } from '../errors.ts';
import { parseJson } from '../exact-json.ts';
import { isMessage, type RpcMessage, refuseAnswer } from '../json-rpc.ts';
import { scanAnswer } from '../raw-result.ts';
import { maskError } from '../security/mask.ts';
import { createTimeShare, largeBytes, nextTurn, sliceMs, type TimeShare } from '../time-slice.ts';
import { createEventReader, type ServerEvent } from './event-reader.ts';
import { maxParsedBytes, readLarge } from './large-messages.ts';
import { joinParts } from './lines.ts';
import type { MessageBudget, MessageHold } from './message-budget.ts';
import { AccessDenied, ConnectionLost, MessageTooLarge } from './session.ts';

interface WireOptions {
  url: string;
  headers: Record<string, string>;
  connectTimeoutMs: number;
  messageBudget: MessageBudget;
  credentials?: Credentials;
  /** Hides secrets in what a server says is wrong, before anything cuts it: half a secret could not be recognised. */
  mask?: (text: string) => string;
}

/** Credentials that change over time (OAuth): asked for before every request, told of every refusal. */
export interface Credentials {
  headers(): Record<string, string> | Promise<Record<string, string>>;
  /** True when there are other ones now, so that the request is worth sending again. */
  refused(refusal: {
    status: number;
    challenge: string | undefined;
    sent: Record<string, string>;
    attempt: number;
  }): Promise<boolean>;
}

export interface WireAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** The whole of it, unless it is an event stream. */
  body: Buffer;
  /** The answer in the body, where it was large and has been read already. */
  message?: RpcMessage;
  events?: EventBody;
}

/** The chunks of an event stream as they come. */
export type EventBody = AsyncIterable<Buffer> & { destroy(): unknown };

export interface Wire {
  readonly url: URL;
  readonly messageBudget: MessageBudget;
  /** For all event streams of the server. */
  readonly timeShare: TimeShare;
  send(method: 'GET' | 'POST' | 'DELETE', options: SendOptions): Promise<WireAnswer>;
  close(): Promise<void>;
}

interface SendOptions {
  headers?: Record<string, string>;
  body?: string;
  signal?: CancelSignal;
  /** Instead of the server's own path, on the same origin. */
  path?: string;
}

/** The pool alone: all of undici is four times as many modules, 0.1 s of every start and 15 MB. */
const Pool = createRequire(import.meta.url)('undici/lib/dispatcher/pool.js') as typeof UndiciPool;

const maxConnections = 256;
/** A server that refuses every token must not make us ask for tokens for ever. */
const maxRefusals = 2;

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
  const hasFixed = Object.keys(fixed).length > 0;

  function exchange(request: Dispatcher.DispatchOptions, signal: CancelSignal | undefined): Promise<WireAnswer> {
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) => {
        if (signal?.aborted) reject(signal.reason);
        else reject(error instanceof ConnectionLost ? error : toConnectionLost(error, url));
      };
      const receive = (answer: WireAnswer) => {
        if (answer.status >= 400 && options.mask !== undefined)
          answer.body = Buffer.from(maskError(answer.body.toString('utf8'), options.mask));
        resolve(answer);
      };
      pool.dispatch(request, createReceiver(options.messageBudget.open(), signal, receive, fail));
    });
  }

  async function exchangeWith(
    credentials: Credentials,
    request: Dispatcher.DispatchOptions & { headers: Record<string, string> },
    signal: CancelSignal | undefined,
  ): Promise<WireAnswer> {
    for (let attempt = 0; ; attempt += 1) {
      const given = credentials.headers();
      const sent = given instanceof Promise ? await given : given;
      const answer = await exchange({ ...request, headers: { ...request.headers, ...sent } }, signal);
      const { status } = answer;
      if (attempt === maxRefusals || (status !== 401 && status !== 403)) return answer;
      const challenge = header(answer, 'www-authenticate');
      if (!(await credentials.refused({ status, challenge, sent, attempt }))) return answer;
      answer.events?.destroy();
    }
  }

  return {
    url,
    messageBudget: options.messageBudget,
    timeShare: createTimeShare(),
    send(method, { headers = {}, body, signal, path: otherPath = path }) {
      const request = { method, path: otherPath, headers: hasFixed ? { ...fixed, ...headers } : headers, body };
      const { credentials } = options;
      return credentials === undefined ? exchange(request, signal) : exchangeWith(credentials, request, signal);
    },
    async close() {
      await pool.destroy();
    },
  };
}

/**
 * Collects a plain answer without a stream in between, which is most of what a hop costs; an event stream becomes one
 * as soon as its headers say so.
 */
function createReceiver(
  hold: MessageHold,
  signal: CancelSignal | undefined,
  resolve: (answer: WireAnswer) => void,
  reject: (error: unknown) => void,
): Dispatcher.DispatchHandler {
  const parts: Buffer[] = [];
  let length = 0;
  let answer: WireAnswer | undefined;
  let events: Readable | undefined;
  let onAbort: (() => void) | undefined;
  const release = () => onAbort && signal?.removeEventListener('abort', onAbort);

  return {
    onRequestStart(controller) {
      onAbort = () => controller.abort(signal?.reason);
      if (signal?.aborted) onAbort();
      else signal?.addEventListener('abort', onAbort, { once: true });
    },
    onResponseStart(controller, status, headers) {
      if (status < 200) return;
      answer = { status, headers, body: noBytes };
      if (contentType(answer) !== 'text/event-stream') return;
      events = new Readable({
        read: () => controller.resume(),
        destroy(error, done) {
          release();
          controller.abort(error ?? new Error('no longer read'));
          done(null);
        },
      });
      resolve({ ...answer, events });
    },
    onResponseData(controller, chunk) {
      if (events !== undefined) {
        if (!events.push(chunk)) controller.pause();
        return;
      }
      length += chunk.length;
      try {
        hold.set(length);
        parts.push(chunk);
      } catch (error) {
        parts.length = 0;
        controller.abort(error as Error);
      }
    },
    onResponseEnd() {
      release();
      if (events !== undefined) return void events.push(null);
      if (answer === undefined) return;
      const whole = answer;
      if (length > largeBytes) {
        readLarge(parts)
          .finally(hold.release)
          .then(({ bytes, answer: message }) => resolve({ ...whole, body: bytes, message }), reject);
        return;
      }
      hold.release();
      whole.body = joinParts(parts);
      resolve(whole);
    },
    onResponseError(_controller, error) {
      release();
      hold.release();
      if (events !== undefined) events.destroy(error);
      else reject(error);
    },
  };
}

const noBytes = Buffer.alloc(0);

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
  ECONNREFUSED: 'connection refused by',
  ENOTFOUND: 'host not found:',
  EAI_AGAIN: 'DNS lookup failed for',
  EHOSTUNREACH: 'network unreachable:',
  ENETUNREACH: 'network unreachable:',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out:',
  ECONNRESET: 'connection closed by',
  UND_ERR_SOCKET: 'connection closed by',
};

export function toConnectionLost(error: unknown, url: URL): ConnectionLost {
  const code = codeOf(error);
  const what = explained[code] ?? 'connection failed:';
  return new ConnectionLost(`${what} ${url.host}`, neverSent.has(code) ? 'no' : 'maybe', error);
}

/** A stream that breaks while it is read tells so with an error of the system's or of undici's. */
export function orConnectionLost(error: unknown, url: URL): unknown {
  // Our own errors (a login is needed) have codes as well.
  return error instanceof AppError || codeOf(error) === '' ? error : toConnectionLost(error, url);
}

function codeOf(error: unknown): string {
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current && typeof current.code === 'string') return current.code;
    if (current instanceof AggregateError && current.errors[0] !== undefined) return codeOf(current.errors[0]);
  }
  return '';
}

export function contentType(answer: Pick<WireAnswer, 'headers'>): string {
  const value = header(answer, 'content-type') ?? '';
  return value === 'application/json' ? value : (value.split(';')[0] ?? '').trim().toLowerCase();
}

export function header(answer: Pick<WireAnswer, 'headers'>, name: string): string | undefined {
  const value = answer.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

export function refuseDenied(answer: WireAnswer): void {
  if (answer.status !== 401 && answer.status !== 403) return;
  answer.events?.destroy();
  throw new AccessDenied(answer.status, header(answer, 'www-authenticate'));
}

/** The messages of an answer; a result among them may be as it came. */
export function readMessages({ body, message = scanAnswer(body) }: Pick<WireAnswer, 'body' | 'message'>): RpcMessage[] {
  if (message !== undefined) return [message];
  if (body.length > maxParsedBytes) throw new MessageTooLarge(maxParsedBytes, 'that is not a result');
  return parseMessages(body.toString('utf8'));
}

/** A promise for a large one, which a worker thread reads. */
export function readEventData(data: readonly Buffer[]): RpcMessage[] | Promise<RpcMessage[]> {
  const bytes = data.reduce((sum, part) => sum + part.length, 0);
  if (bytes <= largeBytes) return messagesIn({ body: joinParts(data) });
  return readLarge(data).then(({ bytes: body, answer }) => messagesIn({ body, message: answer }));
}

/** What is no message is left out, as the official clients do: some servers send their heartbeat as an event. */
function messagesIn({ body, message = scanAnswer(body) }: Pick<WireAnswer, 'body' | 'message'>): RpcMessage[] {
  if (message !== undefined) return [message];
  if (body.length > maxParsedBytes) throw new MessageTooLarge(maxParsedBytes, 'that is not a result');
  return parsedOrNone(body.toString('utf8'))
    .map((one) => refuseAnswer(one) ?? one)
    .filter(isMessage);
}

function parsedOrNone(text: string): unknown[] {
  try {
    return [parseJson(text)].flat();
  } catch {
    return [];
  }
}

/** Others are heartbeats and the like. */
export const hasMessages = ({ event = 'message', data }: ServerEvent): boolean =>
  event === 'message' && data.some(({ length }) => length > 0);

export function parseMessages(text: string): RpcMessage[] {
  let parsed: unknown;
  try {
    parsed = parseJson(text);
  } catch (error) {
    throw new ConnectionLost('the server sent a response that is not JSON', 'maybe', error);
  }
  const messages = Array.isArray(parsed) ? parsed : [parsed];
  if (!messages.every(isMessage)) throw new ConnectionLost('the server sent a response that is not JSON-RPC', 'maybe');
  return messages;
}

interface StreamHandlers {
  /** True where it is an answer to us. */
  onEvent(event: ServerEvent): boolean | Promise<unknown>;
  /** Gets the server's wait. */
  onRetry?(ms: number): void;
  /** Nothing more of the stream is wanted. */
  isDone?(): boolean;
}

/** Feeds every event to `onEvent`, one after the other, until the stream ends or the reader is done. */
export async function readEvents(
  body: EventBody,
  { messageBudget, timeShare }: Pick<Wire, 'messageBudget' | 'timeShare'>,
  { onEvent, onRetry, isDone }: StreamHandlers,
): Promise<void> {
  const hold = messageBudget.open();
  let events: ServerEvent[] = [];
  const reader = createEventReader({ onEvent: (event) => void events.push(event), onRetry });
  try {
    for await (const chunk of body) {
      let began = performance.now();
      let answersMs = 0;
      reader.read(chunk);
      const complete = events;
      events = [];
      for (const event of complete) {
        const before = performance.now();
        hold.set(event.bytes);
        const handled = onEvent(event);
        if (isDone?.()) return;
        const now = performance.now();
        if (handled === true) answersMs += now - before;
        if (!(handled instanceof Promise) && now - began < sliceMs) continue;
        await (handled instanceof Promise ? handled : takeRest(timeShare.rest(began, now - began - answersMs)));
        if (isDone?.()) return;
        began = performance.now();
        answersMs = 0;
      }
      hold.set(reader.pendingBytes);
      const restMs = timeShare.rest(began, performance.now() - began - answersMs);
      if (restMs > 0) await delay(restMs);
    }
  } finally {
    hold.release();
  }
}

const takeRest = (restMs: number): Promise<unknown> => (restMs > 0 ? delay(restMs) : nextTurn());

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
