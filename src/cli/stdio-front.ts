/**
 * MCP on stdin and stdout, for clients that start servers as programs. Forwards every message unchanged to the HTTP
 * endpoint of an aggregator. Each message shows the protocol era that the client uses.
 */
import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { describe } from '../errors.ts';
import { interruptibleDelay } from '../interruptible-delay.ts';
import {
  envelopeProblem,
  hopMeta,
  isMessage,
  isNotification,
  isRequest,
  keyOf,
  newestModern,
  type RpcMessage,
  type RpcRequest,
  rpcCodes,
  toLine,
} from '../json-rpc.ts';
import { version } from '../version.ts';
import { createFrontConnection, type FrontEndpoint, retryMs } from './front-connection.ts';
import { isModern, linesOf, parseLine, readMessages } from './front-messages.ts';

interface StdioFrontOptions {
  input: Readable;
  output: Writable;
  /** Finds the endpoint; called again when it is no longer reachable. */
  reach: () => Promise<FrontEndpoint>;
}

interface StdioFront {
  /** Resolves when the client has closed its input and everything is released. */
  readonly ended: Promise<void>;
}

const goodbyeMs = 1_000;

export function createStdioFront({ input, output, reach }: StdioFrontOptions): StdioFront {
  const running = new Map<unknown, AbortController>();
  const unanswered = new Set<Promise<void>>();
  const closed = new AbortController();
  const connection = createFrontConnection({ reach, client: randomUUID(), write, closed: closed.signal });
  let isAttending = false;

  function write(message: RpcMessage): void {
    output.write(toLine(message));
  }

  async function run(): Promise<void> {
    for await (const line of linesOf(input)) {
      if (line.trim() !== '') for (const message of parseLine(line)) await take(message);
    }
    // A script that pipes requests in still reads the answers.
    await Promise.race([Promise.all(unanswered), delay(goodbyeMs, undefined, { ref: false })]);
    closed.abort();
    await connection.end(goodbyeMs).catch(() => undefined); // the session expires on its own
  }

  /** Requests run concurrently, after the messages that prepare the session. */
  async function take(message: unknown): Promise<void> {
    if (!isMessage(message)) {
      const code = message === undefined ? rpcCodes.parseError : rpcCodes.invalidRequest;
      const problem = message === undefined ? 'not valid JSON' : envelopeProblem(message);
      return write({ jsonrpc: '2.0', id: null, error: { code, message: `Not a JSON-RPC message: ${problem}` } });
    }
    if (!isRequest(message)) return await forward(message);
    const answered = answer(message);
    if (message.method !== 'subscriptions/listen') {
      unanswered.add(answered);
      void answered.then(() => unanswered.delete(answered));
    }
    if (message.method === 'initialize') await answered;
  }

  /** What has no answer: notifications, and answers of the client. */
  async function forward(message: RpcMessage): Promise<void> {
    const method = isNotification(message) ? message.method : undefined;
    if (isNotification(message) && method === 'notifications/cancelled' && !connection.hasSession) {
      // 2026-07-28 cancels over HTTP by closing the request's stream.
      const request = running.get(keyOf(message.params?.requestId));
      if (request !== undefined) return request.abort();
    }
    try {
      const response = await connection.send(message, closed.signal);
      await response.body?.cancel();
    } catch {
      // The next request of the client detects, and reports, that the aggregator cannot be reached.
    }
    if (method === 'notifications/initialized') connection.listen();
  }

  async function answer(request: RpcRequest): Promise<void> {
    if (isModern(request) && !isAttending) void attend();
    const controller = new AbortController();
    running.set(keyOf(request.id), controller);
    const signal = AbortSignal.any([controller.signal, closed.signal]);
    try {
      await relay(await connection.send(request, signal), request, signal);
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

  /** Forwards messages until the answer to the request arrives, resuming the stream as needed. */
  async function relay(first: Response, request: RpcRequest, signal: AbortSignal): Promise<void> {
    let answered = false;
    let lastEventId: string | undefined;
    for (let response = first; ; response = await connection.resume(lastEventId, signal)) {
      await readMessages(
        response,
        (message) => {
          if (!('method' in message)) {
            answered = true;
            connection.recordAnswer(request, message, response);
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

  /** Shows the aggregator how long a modern client is there, so that its sessions with servers end with it. */
  async function attend(): Promise<void> {
    isAttending = true;
    while (!closed.signal.aborted) {
      try {
        await readMessages(await connection.post(attendance, closed.signal), () => undefined);
      } catch {
        // The next request of the client detects whether the aggregator has stopped.
      }
      await interruptibleDelay(retryMs, closed.signal);
    }
  }

  return { ended: run() };
}

const attendance = {
  jsonrpc: '2.0',
  id: 'attend',
  method: 'subscriptions/listen',
  params: {
    notifications: {},
    _meta: {
      [hopMeta.protocolVersion]: newestModern,
      [hopMeta.clientInfo]: { name: 'mcp-aggregator stdio', version },
      [hopMeta.clientCapabilities]: {},
    },
  },
} as const;
