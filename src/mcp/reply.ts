/** The answer to one POST: plain JSON when nothing streams, an event stream as soon as something does. */
import type { ServerResponse } from 'node:http';
import { type RpcMessage, rpcCodes } from '../json-rpc.ts';

export interface Reply {
  /** Something before the answer. */
  push(message: RpcMessage): void;
  finish(answer: RpcMessage | RpcMessage[], status?: number): void;
  /** Not a getter: V8 makes a hidden class for each object with one, which keeps what it holds from being collected. */
  isStreaming(): boolean;
}

export interface ReplyOptions {
  headers?: Record<string, string>;
  acceptsStream: boolean;
  acceptsJson: boolean;
  /** Numbers the events of streams that can be resumed, and keeps them. */
  record?: (text: string) => string;
  onStream?: () => void;
  /** The first event of a stream: an id to come back with before anything was said (2025-11-25). */
  primer?: string;
}

/** Proxies and clients give up on silence; after this long a comment says that we are still there. */
const keepAliveMs = 15_000;
const unreadLimitBytes = 67_108_864;

export function createReply(response: ServerResponse, options: ReplyOptions): Reply {
  let streaming = false;
  let timer: NodeJS.Timeout | undefined;
  if (!options.acceptsJson) open();
  else if (options.acceptsStream) timer = setTimeout(open, keepAliveMs);
  response.on('close', () => clearTimeout(timer));

  function open(): void {
    if (streaming || response.headersSent) return;
    streaming = true;
    options.onStream?.();
    writeHead(response, 200, { ...streamHeaders, ...options.headers });
    response.write(options.primer ?? ': open\n\n');
    clearTimeout(timer);
    timer = setInterval(() => response.write(': still working\n\n'), keepAliveMs);
  }

  function write(message: RpcMessage): void {
    const text = serialize(message);
    const id = options.record?.(text);
    if (response.destroyed) return;
    response.write(toEvent(text, id));
    // A client that does not read must not fill our memory.
    if (response.writableLength > unreadLimitBytes) response.destroy();
  }

  return {
    isStreaming: () => streaming,
    push(message) {
      if (!options.acceptsStream) return;
      open();
      write(message);
    },
    finish(answer, status = 200) {
      clearTimeout(timer);
      if (streaming) {
        for (const message of Array.isArray(answer) ? answer : [answer]) write(message);
        response.end();
      } else if (!response.destroyed) {
        sendJson(response, status, answer, options.headers);
      }
    },
  };
}

export const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
};

export function toEvent(text: string, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: ${text}\n\n`;
}

/** A server may nest its answer deeper than can be written; then that is the answer. */
export function serialize(body: RpcMessage | RpcMessage[]): string {
  try {
    return JSON.stringify(body);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const failed = (message: RpcMessage): RpcMessage => ({
      jsonrpc: '2.0',
      id: 'id' in message ? message.id : null,
      error: { code: rpcCodes.internalError, message: 'The server answered with something nested too deeply' },
    });
    return JSON.stringify(Array.isArray(body) ? body.map(failed) : failed(body));
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: RpcMessage | RpcMessage[],
  headers: Record<string, string> = {},
): void {
  // As text it goes out in one piece with the headers; bytes would be a second one.
  const text = serialize(body);
  const own = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) };
  writeHead(response, status, { ...own, ...headers }).end(text);
}

/** With the request's id. A header that is set beforehand makes Node take the slow way for all of them. */
export function writeHead(
  response: ServerResponse,
  status: number,
  headers: Record<string, string> = {},
): ServerResponse {
  const id = response.req.headers['x-request-id'];
  return response.writeHead(status, id === undefined ? headers : { ...headers, 'x-request-id': id });
}
