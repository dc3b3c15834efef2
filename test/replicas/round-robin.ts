/** A plain proxy that deals requests in turn and knows nothing of sessions; a replica that refuses is passed over. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RoundRobin {
  url: string;
  targets: string[];
  close(): Promise<void>;
}

export async function startRoundRobin(targets: string[]): Promise<RoundRobin> {
  let turn = 0;
  const server = createServer((request, response) => void pass(request, response, targets.length));

  function pass(request: IncomingMessage, response: ServerResponse, attempts: number): void {
    const target = targets[turn++ % targets.length] ?? '';
    const upstream = requestHttp(new URL(request.url ?? '/', target), {
      method: request.method,
      headers: request.headers,
      agent: false,
    });
    let connected = false;
    upstream.on('socket', (socket) =>
      socket.once('connect', () => {
        connected = true;
        request.pipe(upstream);
      }),
    );
    upstream.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    upstream.on('error', () => {
      if (!connected && attempts > 1) return pass(request, response, attempts - 1);
      if (!response.headersSent) response.writeHead(502).end();
      else response.destroy();
    });
    response.on('close', () => upstream.destroy());
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    targets,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
