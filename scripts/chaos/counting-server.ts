/** An MCP server over HTTP that knows how often each call reached it. */
import { once } from 'node:events';
import { createServer, request as requestHttp } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type HttpTransport, startFeatureServer } from '../../test/support/servers/feature-server.ts';

export interface CountingServer {
  url: string;
  /** By the text of the call. */
  readonly executions: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

export async function startCountingServer(transport: HttpTransport, label: string): Promise<CountingServer> {
  const program = await startFeatureServer({ transport, label });
  const executions = new Map<string, number>();
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    const text = textOfCall(body.toString());
    if (text !== undefined) executions.set(text, (executions.get(text) ?? 0) + 1);
    const inner = requestHttp(new URL(request.url ?? '/', program.url), {
      method: request.method,
      headers: request.headers,
    });
    inner.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
    });
    inner.on('error', () => response.destroy());
    response.on('close', () => inner.destroy());
    inner.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    executions,
    async close() {
      server.closeAllConnections();
      server.close();
      await program.close();
    },
  };
}

function textOfCall(body: string): string | undefined {
  if (!body.includes('"tools/call"')) return undefined;
  const { params } = JSON.parse(body) as { params?: { arguments?: { text?: unknown } } };
  return typeof params?.arguments?.text === 'string' ? params.arguments.text : undefined;
}
