/** The answer to one POST: plain JSON when nothing streams, an event stream as soon as something does. */
import type { ServerResponse } from 'node:http';
import { isOpen, streamHeaders, writeTo } from '../event-stream.ts';
import { createInFlightTable } from '../in-flight-table.ts';
import { type RequestId, type RpcMessage, rpcCodes } from '../json-rpc.ts';
import { inPieces, isLong } from '../long-text.ts';
import { RawResult, toByteString } from '../raw-result.ts';

export interface Reply {
  /** Something before the answer. */
  push(message: RpcMessage): void;
  /** Closes the stream without an answer: the client comes back for it, where its revision has that. */
  pause(): void;
  finish(answer: RpcMessage | RpcMessage[], status?: number): void;
  /** Not a getter: V8 makes a hidden class for each object with one, which keeps what it holds from being collected. */
  isStreaming(): boolean;
}

interface ReplyOptions {
  headers?: Readonly<Record<string, string>>;
  streams: Streaming;
  /** In revisions whose streams can be resumed: who keeps the events, and the number of this stream there. */
  recorder?: Recorder;
  stream?: number;
  /** Of the only request that it answers. */
  requestId?: RequestId;
}

/** `for_results`: errors keep their HTTP status. `at_once`: the client can resume it before anything was said. */
export type Streaming = 'never' | 'if_needed' | 'for_results' | 'at_once';

const eventStream = 'text/event-stream';

/** What the client would rather have, by what its Accept names first. */
export function preferredForm(accept = '*/*'): 'json' | 'either' | 'stream' {
  // What most clients of the SDKs send.
  if (accept.startsWith('application/json, text/') || accept.includes('*/*')) return 'either';
  const stream = accept.indexOf(eventStream);
  const json = accept.indexOf('application/json');
  if (stream === -1) return 'json';
  return json === -1 || stream < json ? 'stream' : 'either';
}

/** Numbers the events of streams that can be resumed, and keeps them. */
export interface Recorder {
  opened(stream: number, response: ServerResponse, requestId: RequestId | undefined): void;
  /** The first event of a stream: an id to come back with before anything was said (2025-11-25). */
  primer(stream: number): string | undefined;
  record(stream: number, text: string): string;
}

/** The answers under way. */
export interface Replies {
  begin(response: ServerResponse, options: ReplyOptions): Reply;
  close(): void;
}

/** Proxies and clients give up on silence; before it lasts this long a comment says that we are still there. */
const maxSilenceMs = 15_000;
const roundsOfSilence = 3;

export function createReplies(): Replies {
  const waiting = createInFlightTable<{ onRound(): void }>();
  // One timer for all: nearly every answer is there before it would be due.
  const rounds = setInterval(() => {
    for (const reply of waiting) reply.onRound();
  }, maxSilenceMs / roundsOfSilence).unref();

  function begin(response: ServerResponse, { headers, streams, recorder, stream = 0, requestId }: ReplyOptions): Reply {
    let streaming = false;
    let silentRounds = 0;
    const place = waiting.add({ onRound });
    if (streams === 'at_once') open();

    function onRound(): void {
      if (!isOpen(response)) return void waiting.remove(place);
      silentRounds += 1;
      if (silentRounds < roundsOfSilence) return;
      silentRounds = 0;
      if (streaming) writeTo(response, ': still working\n\n');
      else if (streams !== 'never') open();
    }

    function open(): void {
      if (streaming || response.headersSent) return;
      streaming = true;
      recorder?.opened(stream, response, requestId);
      response.writeHead(200, { ...streamHeaders, ...headers });
      response.write(recorder?.primer(stream) ?? ': open\n\n');
    }

    function write(message: RpcMessage): void {
      silentRounds = 0;
      const text = serialize(message);
      writeTo(response, toEvent(text, recorder?.record(stream, text)));
    }

    return {
      isStreaming: () => streaming,
      push(message) {
        if (streams === 'never') return;
        open();
        write(message);
      },
      pause() {
        if (streams === 'never') return;
        open();
        waiting.remove(place);
        response.end();
      },
      finish(answer, status = 200) {
        waiting.remove(place);
        if (streams === 'for_results' && status === 200) open();
        if (streaming) {
          for (const message of Array.isArray(answer) ? answer : [answer]) write(message);
          response.end();
        } else if (!response.destroyed) {
          sendJson(response, status, answer, headers);
        }
      },
    };
  }

  return { begin, close: () => clearInterval(rounds) };
}

export function toEvent(text: string, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: ${text}\n\n`;
}

/** A server may nest its answer deeper than can be written; then that is the answer. */
export function serialize(body: RpcMessage | RpcMessage[]): string {
  if (Array.isArray(body)) return `[${body.map(serialize).join(',')}]`;
  if ('result' in body && body.result instanceof RawResult) return `${beforeResult(body.id)}${body.result.toText()}}`;
  try {
    return JSON.stringify(body);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return JSON.stringify({
      jsonrpc: '2.0',
      id: 'id' in body ? body.id : null,
      error: { code: rpcCodes.internalError, message: 'The server sent a result that is nested too deeply' },
    });
  }
}

const beforeResult = (id: RequestId): string => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;

export function sendJson(
  response: ServerResponse,
  status: number,
  body: RpcMessage | RpcMessage[],
  more?: Readonly<Record<string, string>>,
): void {
  if (!Array.isArray(body) && 'result' in body && body.result instanceof RawResult)
    return sendRaw(response, status, { id: body.id, result: body.result }, more);
  // As text it goes out in one piece with the headers; bytes would be a second one.
  const text = serialize(body);
  const length = String(Buffer.byteLength(text));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...more });
  if (isLong(text)) inPieces(text).pipe(response);
  else response.end(text);
}

/** Copied into one text up to here; beyond, the bytes that came are written themselves. */
const maxCopiedBytes = 65_536;

function sendRaw(
  response: ServerResponse,
  status: number,
  { id, result }: { id: RequestId; result: RawResult },
  more: Readonly<Record<string, string>> | undefined,
): void {
  const before = toByteString(beforeResult(id));
  if (result.byteLength <= maxCopiedBytes) {
    const text = `${before}${result.toByteString()}}`;
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': String(text.length), ...more });
    return void response.end(text, 'latin1');
  }
  const parts = [before, ...result.toParts(), '}'];
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': String(length), ...more });
  response.cork();
  for (const part of parts) response.write(part, 'latin1');
  response.end();
}
