import { type HttpHandler, listenLocally, type RunningServer, readJson, sendJson } from './http-wire.ts';
import { errorCodes, errorMessage, isObject, RpcError, type RpcMessage } from './json-rpc.ts';
import { isModern } from './modern-exchange.ts';
import type { Program } from './program.ts';
import { createSseHandler } from './sse-wire.ts';
import { createStreamableLegacyHandler } from './streamable-legacy-wire.ts';
import { postModern } from './streamable-modern-wire.ts';

export type HttpTransport = 'sse' | 'streamable-legacy' | 'streamable-modern' | 'streamable-dual';

export interface HttpOptions {
  transport: HttpTransport;
  port?: number;
  initializeDelayMs?: number;
}

/** Serves a program over HTTP, pinned to one era or, with `streamable-dual`, both on one address. */
export function startHttpProgram(program: Program, options: HttpOptions): Promise<RunningServer> {
  const { transport, port = 0, initializeDelayMs = 0 } = options;
  return listenLocally(transport === 'sse' ? '/sse' : '/mcp', port, (shutDown) =>
    transport === 'sse'
      ? createSseHandler(program, shutDown, initializeDelayMs)
      : createStreamableHandler(program, transport, shutDown, initializeDelayMs),
  );
}

function createStreamableHandler(
  program: Program,
  transport: Exclude<HttpTransport, 'sse'>,
  shutDown: () => void,
  initializeDelayMs: number,
) {
  const legacy = createStreamableLegacyHandler(program, shutDown, initializeDelayMs);
  const speaksModern = (message: RpcMessage, version: string) =>
    transport === 'streamable-modern' ||
    (transport === 'streamable-dual' && (isModern(message) || version >= '2026-07-28'));

  const handle: HttpHandler = async (request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    if (path !== '/mcp') return void response.writeHead(404).end();
    if (request.method === 'POST') {
      const body = await readJson(request).catch(() => undefined);
      if (!isObject(body) && !Array.isArray(body)) {
        return sendJson(response, 400, errorMessage(null, new RpcError(errorCodes.parse, 'Parse error')));
      }
      const message = body as unknown as RpcMessage;
      if (!Array.isArray(body) && speaksModern(message, String(request.headers['mcp-protocol-version'] ?? ''))) {
        return postModern(program, request, response, message, shutDown);
      }
      return legacy.post(request, response, body);
    }
    if (transport === 'streamable-modern') return void response.writeHead(405, { allow: 'POST' }).end();
    if (request.method === 'GET') return legacy.get(request, response);
    if (request.method === 'DELETE') return legacy.delete(request, response);
    response.writeHead(405, { allow: 'GET, POST, DELETE' }).end();
  };

  return { handle, close: legacy.close };
}
