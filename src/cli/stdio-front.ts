/**
 * MCP on stdin and stdout, for clients that start servers as programs. Forwards every message unchanged to the HTTP
 * endpoint of an aggregator. Each message shows the protocol era that the client uses.
 */

import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { describe } from '../errors.ts';
import { parseJson } from '../exact-json.ts';
import { interruptibleDelay } from '../interruptible-delay.ts';
import {
  encodeHeader,
  envelopeProblem,
  hopMeta,
  isMessage,
  isNotification,
  isObject,
  isRequest,
  keyOf,
  listChanges,
  namedBy,
  newestModern,
  type RpcMessage,
  type RpcRequest,
  rpcCodes,
  toLine,
} from '../json-rpc.ts';
import { toObject } from '../raw-result.ts';
import { version } from '../version.ts';

interface StdioFrontOptions {
  input: Readable;
  output: Writable;
  /** Finds the endpoint; called again when it is no longer reachable. */
  reach: () => Promise<FrontEndpoint>;
}

export interface FrontEndpoint {
  url: string;
  token(): Promise<string | undefined>;
}

interface StdioFront {
  /** Resolves when the client has closed its input and everything is released. */
  readonly ended: Promise<void>;
}

interface FrontSession {
  initialize: RpcRequest;
  id: string | undefined;
  version: string;
  stream: AbortController;
  /** Subscriptions and settings of the session, repeated when it is replaced. */
  wishes: Map<string, RpcRequest>;
}

const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' } as const;
const retryMs = 1_000;
const goodbyeMs = 1_000;

export function createStdioFront({ input, output, reach }: StdioFrontOptions): StdioFront {
  const running = new Map<unknown, AbortController>();
  const handle = randomUUID();
  const unanswered = new Set<Promise<void>>();
  const closed = new AbortController();
  let endpoint: Promise<FrontEndpoint> | undefined;
  let session: FrontSession | undefined;
  let recovering: Promise<void> | undefined;
  let isAttending = false;

  /** One that failed is looked for again by the next message. */
  function reached(): Promise<FrontEndpoint> {
    endpoint ??= reach().catch((error: unknown) => {
      endpoint = undefined;
      throw error;
    });
    return endpoint;
  }

  async function run(): Promise<void> {
    for await (const line of linesOf(input)) {
      if (line.trim() === '') continue;
      const parsed = parse(line);
      for (const message of Array.isArray(parsed) ? parsed : [parsed]) await take(message);
    }
    await end();
  }

  /** Requests run concurrently, after the messages that prepare the session. */
  async function take(message: unknown): Promise<void> {
    if (!isMessage(message)) {
      const code = message === undefined ? rpcCodes.parseError : rpcCodes.invalidRequest;
      const problem = message === undefined ? 'not valid JSON' : envelopeProblem(message);
      return write({ jsonrpc: '2.0', id: null, error: { code, message: `Not a JSON-RPC message: ${problem}` } });
    }
    if (isRequest(message)) {
      const answered = pass(message);
      if (message.method !== 'subscriptions/listen') {
        unanswered.add(answered);
        void answered.then(() => unanswered.delete(answered));
      }
      if (message.method === 'initialize') await answered;
      return;
    }
    if (isNotification(message) && message.method === 'notifications/cancelled') {
      // 2026-07-28 cancels over HTTP by closing the request's stream.
      const request = session === undefined ? running.get(keyOf(message.params?.requestId)) : undefined;
      if (request !== undefined) return request.abort();
    }
    await send(message, closed.signal).then(
      (response) => response.body?.cancel(),
      () => undefined, // notifications have no answer
    );
    if (isNotification(message) && message.method === 'notifications/initialized' && session !== undefined) {
      void listen(session);
    }
  }

  /** Shows the aggregator how long a modern client is there, so that its sessions with servers end with it. */
  async function attend(): Promise<void> {
    isAttending = true;
    const meta = {
      [hopMeta.protocolVersion]: newestModern,
      [hopMeta.clientInfo]: { name: 'mcp-aggregator stdio', version },
      [hopMeta.clientCapabilities]: {},
    };
    const params = { notifications: {}, _meta: meta };
    const message = { jsonrpc: '2.0', id: 'attend', method: 'subscriptions/listen', params } as const;
    while (!closed.signal.aborted) {
      try {
        const response = await post(message, closed.signal);
        await readMessages(response, () => undefined);
      } catch {
        // The next request of the client detects whether the aggregator has stopped.
      }
      await interruptibleDelay(retryMs, closed.signal);
    }
  }

  async function pass(request: RpcRequest): Promise<void> {
    if (isModern(request) && !isAttending) void attend();
    const controller = new AbortController();
    running.set(keyOf(request.id), controller);
    const signal = AbortSignal.any([controller.signal, closed.signal]);
    try {
      await relay(await send(request, signal), request, signal);
    } catch (error) {
      if (signal.aborted) return;
      const reason = describe(error);
      write({
        jsonrpc: '2.0',
        id: request.id,
        error: { code: rpcCodes.internalError, message: `The aggregator did not respond: ${reason}` },
      });
    } finally {
      running.delete(keyOf(request.id));
    }
  }

  async function send(message: RpcMessage, signal: AbortSignal): Promise<Response> {
    const response = await post(message, signal).catch(async (error: unknown) => {
      if (signal.aborted || !neverSent(error)) throw error;
      // The aggregator may have run in the process of another client, which has exited.
      await recover(true);
      return await post(message, signal);
    });
    if (response.status !== 404 || session?.id === undefined || isModern(message)) return response;
    // The session expired while the client was idle.
    await response.body?.cancel();
    await recover(false);
    return await post(message, signal);
  }

  async function post(message: RpcMessage, signal: AbortSignal): Promise<Response> {
    const { url, token } = await reached();
    return await fetch(url, {
      method: 'POST',
      headers: { ...headersOf(message), ...authorization(await token()) },
      body: JSON.stringify(message),
      signal,
    });
  }

  function headersOf(message: RpcMessage): Record<string, string> {
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      // This client cannot repeat parameters in headers.
      'mcp-aggregator-front': 'stdio',
      'mcp-aggregator-client': handle,
    };
    const version = modernVersionOf(message);
    if (version === undefined) return { ...headers, ...sessionHeaders(message) };
    headers['mcp-protocol-version'] = version;
    if (!('method' in message)) return headers;
    headers['mcp-method'] = message.method;
    const name = message.params?.[namedBy[message.method] ?? ''];
    if (typeof name === 'string') headers['mcp-name'] = encodeHeader(name);
    return headers;
  }

  function sessionHeaders(message: RpcMessage): Record<string, string> {
    if (session?.id === undefined || ('method' in message && message.method === 'initialize')) return {};
    return { 'mcp-session-id': session.id, 'mcp-protocol-version': session.version };
  }

  /** Forwards messages until the answer to the request arrives, resuming the stream as needed. */
  async function relay(first: Response, request: RpcRequest, signal: AbortSignal): Promise<void> {
    let answered = false;
    let lastEventId: string | undefined;
    for (let response = first; ; response = await openStream(session, lastEventId, signal)) {
      await readMessages(
        response,
        (message) => {
          if (!('method' in message)) {
            answered = true;
            if (request.method === 'initialize') begin(request, message, response);
            else if ('result' in message) recordDesired(request);
          }
          // An error without an ID, sent before the request was parsed, is still the answer.
          write('error' in message && message.id === null ? { ...message, id: request.id } : message);
        },
        (id) => {
          lastEventId = id;
        },
      );
      if (answered) return;
      if (lastEventId === undefined) throw new Error('the answer ended early');
      await delay(retryMs, undefined, { signal });
    }
  }

  async function openStream(
    on: FrontSession | undefined,
    lastEventId: string | undefined,
    signal: AbortSignal,
  ): Promise<Response> {
    const { url, token } = await reached();
    return await fetch(url, {
      headers: {
        accept: 'text/event-stream',
        'mcp-session-id': on?.id ?? '',
        'mcp-protocol-version': on?.version ?? '',
        ...authorization(await token()),
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
      signal,
    });
  }

  function begin(initialize: RpcRequest, answer: RpcMessage, response: Response): void {
    if (!('result' in answer)) return;
    session?.stream.abort();
    session = {
      initialize,
      id: response.headers.get('mcp-session-id') ?? undefined,
      version: String(toObject(answer.result).protocolVersion),
      stream: new AbortController(),
      wishes: session?.initialize === initialize ? session.wishes : new Map(),
    };
  }

  function recordDesired(request: RpcRequest): void {
    const { method, params } = request;
    if (method === 'logging/setLevel') session?.wishes.set(method, request);
    if (method === 'resources/subscribe') session?.wishes.set(`subscribe ${params?.uri}`, request);
    if (method === 'resources/unsubscribe') session?.wishes.delete(`subscribe ${params?.uri}`);
  }

  /** Runs once, even if several requests fail at the same time. */
  function recover(moved: boolean): Promise<void> {
    recovering ??= (async () => {
      if (moved) endpoint = undefined;
      await reopen();
    })().finally(() => {
      recovering = undefined;
    });
    return recovering;
  }

  /** Replaces the session transparently for the client. */
  async function reopen(): Promise<void> {
    if (session === undefined) return;
    const { initialize } = session;
    const response = await post(initialize, closed.signal);
    await readMessages(response, (message) => begin(initialize, message, response));
    for (const message of [initialized, ...session.wishes.values()]) {
      const done = await post(message, closed.signal);
      await done.body?.cancel();
    }
    void listen(session);
    // Notifications were lost in the meantime, so report all lists as changed.
    for (const method of listChanges) write({ jsonrpc: '2.0', method });
  }

  /** Receives messages outside of requests: changed lists, updated resources. */
  async function listen(on: FrontSession): Promise<void> {
    const signal = AbortSignal.any([on.stream.signal, closed.signal]);
    let lastEventId: string | undefined;
    while (!signal.aborted) {
      try {
        const response = await openStream(on, lastEventId, signal);
        if (response.status !== 200) {
          await response.body?.cancel();
          // Other errors also occur with the next request, which can report them.
          return response.status === 404 ? await recover(false) : undefined;
        }
        await readMessages(response, write, (id) => {
          lastEventId = id;
        });
      } catch {
        // Closed or refused: only retry here; the next request detects whether the aggregator has stopped.
      }
      await interruptibleDelay(retryMs, signal);
    }
  }

  async function end(): Promise<void> {
    const ending = session;
    // A script that pipes requests in still reads the answers.
    await Promise.race([Promise.all(unanswered), delay(goodbyeMs, undefined, { ref: false })]);
    closed.abort();
    if (ending?.id === undefined) return;
    const { url, token } = await reached();
    const last = await token().catch(() => undefined); // unreachable; the session expires on its own
    await fetch(url, {
      method: 'DELETE',
      headers: { 'mcp-session-id': ending.id, 'mcp-protocol-version': ending.version, ...authorization(last) },
      signal: AbortSignal.timeout(goodbyeMs),
    }).catch(() => undefined); // it expires on its own
  }

  function write(message: RpcMessage): void {
    output.write(toLine(message));
  }

  return { ended: run() };
}

/** Not `readline`, which also splits lines at characters that JSON may contain. */
async function* linesOf(input: Readable): AsyncGenerator<string> {
  let begun: string[] = [];
  for await (const chunk of input.setEncoding('utf8')) {
    const [first = '', ...more] = String(chunk).split('\n');
    begun.push(first);
    if (more.length === 0) continue;
    yield begun.join('');
    begun = [more.pop() ?? ''];
    yield* more;
  }
  yield begun.join('');
}

const authorization = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

function modernVersionOf(message: RpcMessage): string | undefined {
  const params = 'method' in message ? message.params : undefined;
  const meta = isObject(params?._meta) ? params._meta : {};
  const version = meta[hopMeta.protocolVersion];
  return typeof version === 'string' ? version : undefined;
}

const isModern = (message: RpcMessage) => modernVersionOf(message) !== undefined;

async function readMessages(
  response: Response,
  onMessage: (message: RpcMessage) => void,
  onId?: (id: string) => void,
): Promise<void> {
  if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
    const body = parse(await response.text());
    for (const message of Array.isArray(body) ? body : [body]) if (isMessage(message)) onMessage(message);
    return;
  }
  const parser = createParser({
    onEvent({ id, data }) {
      if (id !== undefined) onId?.(id);
      const message = data === '' ? undefined : parse(data);
      if (isMessage(message)) onMessage(message);
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
}

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined; // handled by the caller
  }
}

/** The connection was refused, so nothing was executed. */
function neverSent(error: unknown): boolean {
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current && current.code === 'ECONNREFUSED') return true;
  }
  return false;
}
