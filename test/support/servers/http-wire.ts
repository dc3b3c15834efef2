import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type HttpHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;

export interface RunningServer {
  url: string;
  close(): Promise<void>;
}

/** Listens on loopback, refuses foreign hosts and origins, and closes hard: open streams are cut. */
export async function listenLocally(
  path: string,
  port: number,
  handlerFor: (shutDown: () => void) => { handle: HttpHandler; close(): void },
): Promise<RunningServer> {
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= new Promise((resolve) => {
      handler.close();
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return closing;
  };
  const handler = handlerFor(() => void close());
  const server = createServer((request, response) => {
    if (isForeign(request)) return void response.writeHead(403).end('Host or Origin not allowed');
    void handler.handle(request, response);
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  const { port: actual } = server.address() as AddressInfo; // a TCP listener has no other kind of address
  return { url: `http://127.0.0.1:${actual}${path}`, close };
}

const localHost = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

function isForeign({ headers }: IncomingMessage): boolean {
  const origin = headers.origin === undefined ? undefined : headers.origin.replace(/^https?:\/\//, '');
  return !localHost.test(headers.host ?? '') || (origin !== undefined && !localHost.test(origin));
}

export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

export function sendJson(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

export function openEventStream(response: ServerResponse, headers = {}): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...headers });
  response.flushHeaders();
}

export function writeEvent(
  response: ServerResponse,
  event: { id?: string; event?: string; data: string; retry?: number },
): void {
  const fields = Object.entries(event).map(([name, value]) => `${name}: ${value}\n`);
  response.write(`${fields.join('')}\n`);
}
