/** A server on Streamable HTTP that is proper until the moment comes; it prints its address. `node bad-http.ts <method> <manner>` */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { hostileMessages, properResult, type Request } from './hostile-json.ts';

const asJson = { 'content-type': 'application/json' };
const asEvents = { 'content-type': 'text/event-stream' };
/** Until the connection ends: nothing outlives it. */
const forEver = (response: ServerResponse, ms: number, act: () => void): void => {
  const timer = setInterval(act, ms);
  response.on('close', () => clearInterval(timer));
};

/** What only HTTP can do. */
const ownManners: Record<string, (response: ServerResponse, request: Request) => void> = {
  silence: () => undefined,
  'status 500': (response) => response.writeHead(500).end('<html>oops</html>'),
  'status 429, try in a year': (response) => response.writeHead(429, { 'retry-after': '31536000' }).end(),
  'status 404, no such session': (response) => response.writeHead(404).end(),
  'status 401, a strange challenge': (response) =>
    response.writeHead(401, { 'www-authenticate': `Bearer ${'a="'.repeat(2_000)}` }).end(),
  'redirects to itself': (response) => response.writeHead(307, { location: '/' }).end(),
  'redirects into the network': (response) => response.writeHead(307, { location: 'http://169.254.169.254/' }).end(),
  'a page instead of JSON': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello'),
  'closes in the middle': (response) => {
    response.writeHead(200, { ...asJson, 'content-length': '1000' }).write('{"jsonrpc"');
    setTimeout(() => response.destroy(), 20);
  },
  'one byte a second': (response) => {
    response.writeHead(200, asJson);
    forEver(response, 1_000, () => response.write(' '));
  },
  'comments without end': (response) => {
    response.writeHead(200, asEvents);
    forEver(response, 5, () => response.write(`: ${'x'.repeat(4_096)}\n\n`));
  },
  'an event without end': (response) => {
    response.writeHead(200, asEvents).write('data: ');
    forEver(response, 1, () => response.write('x'.repeat(65_536)));
  },
  'come back at once': (response) => response.writeHead(200, asEvents).end('id: 1\nretry: 0\ndata: \n\n'),
  'a small page that unpacks to 1 GB': (response) =>
    response.writeHead(200, { ...asJson, 'content-encoding': 'gzip' }).end(bomb()),
};

/** Packed parts may follow one another: 64 times the same 16 MB. */
function bomb(): Buffer {
  const part = gzipSync(Buffer.alloc(2 ** 24, 0x20));
  return Buffer.concat(Array.from({ length: 64 }, () => part));
}

export const httpManners = [...Object.keys(ownManners), ...Object.keys(hostileMessages)];

if (import.meta.main) {
  const [moment = '', manner = ''] = process.argv.slice(2);
  const server = createServer((incoming, response) => {
    if (incoming.method !== 'POST') return void response.writeHead(405).end();
    void json(incoming).then(
      (body) => answer(response, body as Request, { moment, manner }),
      () => response.destroy(),
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

function answer(response: ServerResponse, request: Request, bad: { moment: string; manner: string }): void {
  if (request.id === undefined) return void response.writeHead(202).end();
  const proper = JSON.stringify({ jsonrpc: '2.0', id: request.id, result: properResult(request) });
  if (request.method !== bad.moment) return void response.writeHead(200, asJson).end(proper);
  const own = ownManners[bad.manner];
  if (own !== undefined) return own(response, request);
  response.writeHead(200, asEvents);
  for (const message of hostileMessages[bad.manner]?.(request) ?? []) response.write(`data: ${message}\n\n`);
  response.end();
}
