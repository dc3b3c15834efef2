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
  acceptsStream: boolean;
  acceptsJson: boolean;
  /** In revisions whose streams can be resumed: who keeps the events, and the number of this stream there. */
  recorder?: Recorder;
  stream?: number;
}

/** Numbers the events of streams that can be resumed, and keeps them. */
export interface Recorder {
  opened(stream: number, response: ServerResponse): void;
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

  function begin(
    response: ServerResponse,
    { headers, acceptsStream, acceptsJson, recorder, stream = 0 }: ReplyOptions,
  ): Reply {
    let streaming = false;
    let silentRounds = 0;
    const place = waiting.add({ onRound });
    if (!acceptsJson) open();

    function onRound(): void {
      if (!isOpen(response)) return void waiting.remove(place);
      silentRounds += 1;
      if (silentRounds < roundsOfSilence) return;
      silentRounds = 0;
      if (streaming) writeTo(response, ': still working\n\n');
      else if (acceptsStream) open();
    }

    function open(): void {
      if (streaming || response.headersSent) return;
      streaming = true;
      recorder?.opened(stream, response);
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
        if (!acceptsStream) return;
        open();
        write(message);
      },
      pause() {
        if (!acceptsStream) return;
        open();
        waiting.remove(place);
        response.end();
      },
      finish(answer, status = 200) {
        waiting.remove(place);
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
  const parts = [toByteString(beforeResult(id)), ...result.toParts(), '}'];
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': String(length), ...more });
  if (length <= maxCopiedBytes) {
    let text = '';
    for (const part of parts) text += typeof part === 'string' ? part : part.toString('latin1');
    return void response.end(text, 'latin1');
  }
  response.cork();
  for (const part of parts) response.write(part, 'latin1');
  response.end();
}
