/** An MCP server over HTTP with a front that can be told to be slow, to hang, or to break off in the middle. */
import { once } from 'node:events';
import { createServer, request as requestHttp } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { startFeatureServer } from '../../test/support/servers/feature-server.ts';

export type Manner = 'well' | 'slow' | 'hanging' | 'cut';

export interface FaultyServer {
  url: string;
  manner: Manner;
  close(): Promise<void>;
}

const slowMs = 1_500;

export async function startFaultyServer(label: string): Promise<FaultyServer> {
  const program = await startFeatureServer({ transport: 'streamable-legacy', label });
  const server = createServer(async (request, response) => {
    if (faulty.manner === 'slow') await delay(slowMs);
    const inner = requestHttp(new URL(request.url ?? '/', program.url), {
      method: request.method,
      headers: request.headers,
    });
    inner.on('response', (answer) => {
      // It never says anything, though it did what it was asked.
      if (faulty.manner === 'hanging') return void answer.resume();
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      if (faulty.manner !== 'cut') return void answer.pipe(response);
      answer.once('data', (part: Buffer) => {
        response.write(part.subarray(0, Math.ceil(part.length / 2)), () => response.destroy());
        answer.destroy();
      });
    });
    inner.on('error', () => response.destroy());
    response.on('close', () => inner.destroy());
    request.pipe(inner);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const faulty: FaultyServer = {
    url: `http://127.0.0.1:${port}/mcp`,
    manner: 'well',
    async close() {
      server.closeAllConnections();
      server.close();
      await program.close();
    },
  };
  return faulty;
}
