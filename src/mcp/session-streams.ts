/**
 * The streams of one session: one for each request, and the standalone one for what belongs to no request. A stream that
 * was cut can be resumed; until then its messages are kept.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isOpen, streamHeaders, writeTo } from '../event-stream.ts';
import { type RequestId, type RpcMessage, rpcCodes } from '../json-rpc.ts';
import type { ClientRequest } from './peer.ts';
import { createReplayBuffer } from './replay-buffer.ts';
import { preferredForm, type Recorder, type Replies, type Streaming, serialize, toEvent } from './reply.ts';

/** Where messages of one request, or of none, go. */
export interface Outlet {
  send(message: RpcMessage): void;
  /** Closes the stream before the answer: the client comes back for it. */
  pause?(): void;
}

export interface ReplyOutlet extends Outlet {
  finish(answers: RpcMessage | RpcMessage[]): void;
}

export interface SessionStreams {
  /** How many are open. */
  readonly size: number;
  /** The standalone one is open. */
  readonly isListening: boolean;
  readonly standalone: Outlet;
  /** For the requests of one POST; `more` are headers of its answer, `requestId` names the only one. */
  reply(incoming: ClientRequest, more?: Record<string, string>, requestId?: RequestId): ReplyOutlet;
  /** Opens the standalone stream, or resumes one; false when the standalone one is open already. */
  listen(incoming: ClientRequest, lastEventId: string | undefined): boolean;
  /** 2024-11-05: one stream for everything, which begins with the address that messages are posted to. */
  attach(incoming: ClientRequest, messagesUrl: string): void;
  close(): void;
}

interface StreamOptions {
  sessionId: string;
  replies: Replies;
  /** A stream of 2024-11-05 cannot be resumed: its end is the end of the session. */
  canResume: boolean;
  /** 2025-11-25: the stream of a request may close before the answer. */
  mayPause: () => boolean;
  /** The session was used until now. */
  onClosed: () => void;
}

const keepAliveMs = 15_000;
const retryMs = 1_000;
const standalone = 0;

export function createSessionStreams(options: StreamOptions): SessionStreams {
  const { sessionId, replies, canResume, mayPause, onClosed } = options;
  const buffer = createReplayBuffer();
  const open = new Map<number, ServerResponse>();
  const unfinished = new Set<number>([standalone]);
  let last = standalone;

  function send(stream: number, message: RpcMessage): void {
    const text = serialize(message);
    const eventId = canResume ? buffer.record(stream, text) : undefined;
    const response = open.get(stream);
    if (response !== undefined) writeTo(response, toEvent(text, eventId));
  }

  /** A stream that was resumed has a new response while the old one may still be closing. */
  function add(stream: number, response: ServerResponse): void {
    open.set(stream, response);
    response.on('close', () => {
      if (open.get(stream) === response) open.delete(stream);
      onClosed();
    });
  }

  const recorder: Recorder = {
    opened(stream, response, requestId) {
      if (canResume && requestId !== undefined) buffer.name(stream, requestId);
      unfinished.add(stream);
      add(stream, response);
    },
    primer: (stream) => (mayPause() ? `id: ${buffer.eventId(stream, 0)}\nretry: ${retryMs}\ndata: \n\n` : undefined),
    record: buffer.record,
  };

  return {
    get size() {
      return open.size;
    },
    get isListening() {
      return open.has(standalone);
    },
    standalone: { send: (message) => send(standalone, message) },

    reply({ request, response, answerHeaders }, more, requestId) {
      last += 1;
      const stream = last;
      const headers = { ...answerHeaders, ...more };
      const reply = replies.begin(response, { streams: streamsOf(request), headers, recorder, stream, requestId });
      const isCut = () => reply.isStreaming() && (!isOpen(response) || open.get(stream) !== response);
      // Whether the stream is cut and resumed or not, the messages of a request go to its stream.
      return {
        send(message) {
          if (isCut()) send(stream, message);
          else reply.push(message);
        },
        pause() {
          if (!mayPause()) return;
          if (isCut()) open.get(stream)?.end();
          else reply.pause();
        },
        finish(answers) {
          unfinished.delete(stream);
          if (!isCut()) return reply.finish(answers);
          for (const message of [answers].flat()) send(stream, message);
          open.get(stream)?.end();
        },
      };
    },

    listen({ response, answerHeaders }, lastEventId) {
      const {
        stream,
        requestId,
        events: missed,
      } = lastEventId === undefined ? { stream: standalone, events: [] } : buffer.since(lastEventId);
      if (lastEventId === undefined && open.has(standalone)) return false;
      open.get(stream)?.end();
      response.writeHead(200, { ...streamHeaders, ...answerHeaders, 'mcp-session-id': sessionId });
      response.flushHeaders();
      keepAlive(response);
      add(stream, response);
      if (lastEventId === undefined) return true;
      for (const { id, text } of missed) writeTo(response, toEvent(text, id));
      // A stream of the session's life before a restart.
      if (stream > last && requestId !== undefined)
        writeTo(response, toEvent(serialize(lostRequest(requestId)), undefined));
      if (!unfinished.has(stream)) response.end();
      return true;
    },

    attach({ response, answerHeaders }, messagesUrl) {
      response.writeHead(200, { ...streamHeaders, ...answerHeaders });
      response.write(`event: endpoint\ndata: ${messagesUrl}\n\n`);
      keepAlive(response);
      open.set(standalone, response);
    },

    close() {
      for (const response of open.values()) response.end();
    },
  };
}

function lostRequest(id: RequestId): RpcMessage {
  const message =
    'The aggregator was restarted while it handled this request. The request may have been executed; ' +
    'send it again if that is safe.';
  return { jsonrpc: '2.0', id, error: { code: rpcCodes.internalError, message } };
}

function streamsOf({ headers }: IncomingMessage): Streaming {
  const form = preferredForm(headers.accept);
  if (form === 'stream') return 'at_once';
  return form === 'json' ? 'never' : 'if_needed';
}

function keepAlive(response: ServerResponse): void {
  const timer = setInterval(() => writeTo(response, ': still here\n\n'), keepAliveMs);
  response.on('close', () => clearInterval(timer));
}
