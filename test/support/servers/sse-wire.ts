import type { ServerResponse } from 'node:http';
import { type HttpHandler, openEventStream, readJson, writeEvent } from './http-wire.ts';
import type { RpcMessage } from './json-rpc.ts';
import { createLegacyPeer, type LegacyPeer } from './legacy-peer.ts';
import type { Program } from './program.ts';

/** HTTP+SSE of 2024-11-05: `GET /sse` opens the stream and names the address that takes the client's messages. */
export function createSseHandler(program: Program, shutDown: () => void, initializeDelayMs: number) {
  const peers = new Map<string, LegacyPeer>();

  function open(response: ServerResponse): void {
    openEventStream(response);
    const send = (message: RpcMessage) => writeEvent(response, { event: 'message', data: JSON.stringify(message) });
    const peer = createLegacyPeer(program, { send, hangUp: () => response.destroy(), shutDown }, initializeDelayMs);
    peers.set(peer.session.id, peer);
    response.on('close', () => {
      peers.delete(peer.session.id);
      peer.close();
    });
    writeEvent(response, { event: 'endpoint', data: `/messages?sessionId=${peer.session.id}` });
  }

  const handle: HttpHandler = async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    if (request.method === 'GET' && url.pathname === '/sse') return open(response);
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const peer = peers.get(url.searchParams.get('sessionId') ?? '');
    if (url.pathname !== '/messages' || !peer) return void response.writeHead(404).end();
    const message = (await readJson(request)) as RpcMessage;
    response.writeHead(202).end('Accepted');
    peer.receive(message);
  };

  return { handle, close: () => undefined };
}
