/** A plain proxy that deals requests in turn and knows nothing of sessions; a replica that refuses is passed over. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '../support/until.ts';

export interface RoundRobin {
  url: string;
  targets: string[];
  /** Gives a replica nothing more; resolves when it has begun to answer what it was given. */
  remove(target: string): Promise<void>;
  close(): Promise<void>;
}

export async function startRoundRobin(targets: string[]): Promise<RoundRobin> {
  let turn = 0;
  const unanswered = new Map<IncomingMessage, string>();
  const server = createServer((request, response) => {
    turn += 1;
    pass(request, response, { place: turn, attempts: targets.length });
  });

  function pass(
    request: IncomingMessage,
    response: ServerResponse,
    { place, attempts }: { place: number; attempts: number },
  ): void {
    const target = targets[place % targets.length] ?? '';
    const upstream = requestHttp(new URL(request.url ?? '/', target), {
      method: request.method,
      headers: request.headers,
      agent: false,
    });
    let connected = false;
    unanswered.set(request, target);
    upstream.on('socket', (socket) =>
      socket.once('connect', () => {
        connected = true;
        request.pipe(upstream);
      }),
    );
    upstream.on('response', (answer) => {
      unanswered.delete(request);
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    upstream.on('error', () => {
      unanswered.delete(request);
      if (!connected && attempts > 1) return pass(request, response, { place: place + 1, attempts: attempts - 1 });
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
    async remove(target) {
      targets.splice(targets.indexOf(target), 1);
      await until(() => ![...unanswered.values()].includes(target), 'the replica has answered');
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
