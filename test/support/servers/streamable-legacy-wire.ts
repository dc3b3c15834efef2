import type { IncomingMessage, ServerResponse } from 'node:http';
import { openEventStream, sendJson, writeEvent } from './http-wire.ts';
import { errorMessage, RpcError, type RpcId, type RpcMessage } from './json-rpc.ts';
import { createLegacyPeer, type LegacyPeer } from './legacy-peer.ts';
import type { Program } from './program.ts';

/** Streamable HTTP of 2025-03-26 to 2025-11-25 with sessions, resumable streams and a stream for unsolicited messages. */
export function createStreamableLegacyHandler(program: Program, shutDown: () => void, initializeDelayMs: number) {
  const sessions = new Map<string, HttpSession>();

  function post(request: IncomingMessage, response: ServerResponse, body: unknown): void {
    const messages = (Array.isArray(body) ? body : [body]) as RpcMessage[];
    const opening = messages.some((message) => message.method === 'initialize');
    const session = opening ? createSession() : findSession(request, response);
    if (!session) return;
    const ids = messages.flatMap(({ id, method }) => (id != null && method !== undefined ? [id] : []));
    if (ids.length === 0) response.writeHead(202).end();
    else session.openStream(ids, response, String(request.headers['mcp-protocol-version'] ?? ''));
    for (const message of messages) session.peer.receive(message);
  }

  function createSession(): HttpSession {
    const session = createHttpSession(program, shutDown, initializeDelayMs);
    sessions.set(session.peer.session.id, session);
    return session;
  }

  function findSession(request: IncomingMessage, response: ServerResponse): HttpSession | undefined {
    const id = request.headers['mcp-session-id'];
    const session = sessions.get(String(id));
    if (!session) {
      const missing = id === undefined;
      const error = new RpcError(
        missing ? -32000 : -32001,
        missing ? 'Mcp-Session-Id is required' : 'Session not found',
      );
      sendJson(response, missing ? 400 : 404, errorMessage(null, error));
    }
    return session;
  }

  return {
    post,
    get(request: IncomingMessage, response: ServerResponse): void {
      findSession(request, response)?.resume(response, request.headers['last-event-id']);
    },
    delete(request: IncomingMessage, response: ServerResponse): void {
      const session = findSession(request, response);
      if (!session) return;
      sessions.delete(session.peer.session.id);
      session.close();
      response.writeHead(200).end();
    },
    close(): void {
      for (const session of sessions.values()) session.close();
    },
  };
}

/** Every event is kept, so a client that comes back with `Last-Event-ID` gets what it missed on that stream. */
interface Stream {
  name: string;
  unanswered: Set<RpcId>;
  events: string[];
  response: ServerResponse | undefined;
  onResumed: (() => void)[];
}

interface HttpSession {
  peer: LegacyPeer;
  openStream(ids: RpcId[], response: ServerResponse, version: string): void;
  resume(response: ServerResponse, lastEventId: string | string[] | undefined): void;
  close(): void;
}

const unsolicited = 'unsolicited';

function createHttpSession(program: Program, shutDown: () => void, initializeDelayMs: number): HttpSession {
  const streams = new Map<string, Stream>();
  const streamOf = new Map<RpcId, Stream>();
  const general = addStream(unsolicited, []);

  const peer = createLegacyPeer(
    program,
    {
      send(message, relatedTo) {
        const stream = (relatedTo === undefined ? undefined : streamOf.get(relatedTo)) ?? general;
        push(stream, message);
        if (message.method === undefined && message.id != null) answered(stream, message.id);
      },
      async pauseStream(id) {
        const stream = streamOf.get(id);
        stream?.response?.end();
        await new Promise<void>((resolve) => stream?.onResumed.push(resolve));
      },
      hangUp: (id) => void streamOf.get(id)?.response?.destroy(),
      shutDown,
    },
    initializeDelayMs,
  );

  function addStream(name: string, ids: RpcId[]): Stream {
    const stream: Stream = { name, unanswered: new Set(ids), events: [], response: undefined, onResumed: [] };
    streams.set(name, stream);
    for (const id of ids) streamOf.set(id, stream);
    return stream;
  }

  function push(stream: Stream, message: RpcMessage): void {
    stream.events.push(JSON.stringify(message));
    if (stream.response) writeNumbered(stream, stream.response, stream.events.length);
  }

  function answered(stream: Stream, id: RpcId): void {
    stream.unanswered.delete(id);
    streamOf.delete(id);
    if (stream.unanswered.size === 0) stream.response?.end();
  }

  function attach(stream: Stream, response: ServerResponse): void {
    openEventStream(response, { 'mcp-session-id': peer.session.id });
    stream.response = response;
    response.on('close', () => {
      if (stream.response === response) stream.response = undefined;
    });
  }

  return {
    peer,
    openStream(ids, response, version) {
      const stream = addStream(`call-${streams.size}`, ids);
      attach(stream, response);
      // The priming event of 2025-11-25 gives the client an id to come back with; older clients choke on empty data.
      if (version >= '2025-11-25') writeEvent(response, { id: `${stream.name}/0`, retry: 500, data: '' });
    },
    resume(response, lastEventId) {
      const [name = unsolicited, seen = String(general.events.length)] = String(lastEventId ?? unsolicited).split('/');
      const stream = streams.get(name);
      if (!stream) return void response.writeHead(404).end();
      if (stream.response) return void response.writeHead(409).end();
      attach(stream, response);
      for (let number = Number(seen) + 1; number <= stream.events.length; number++)
        writeNumbered(stream, response, number);
      for (const told of stream.onResumed.splice(0)) told();
      if (stream !== general && stream.unanswered.size === 0) response.end();
    },
    close() {
      peer.close();
      for (const stream of streams.values()) stream.response?.end();
    },
  };
}

function writeNumbered(stream: Stream, response: ServerResponse, number: number): void {
  writeEvent(response, { id: `${stream.name}/${number}`, event: 'message', data: stream.events[number - 1] ?? '' });
}
