/** A documentation server whose answer is a message of exactly so many bytes, over stdio or HTTP. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { childProgram } from '../child-program.ts';
import type { RunningServer } from './http-wire.ts';

export type SizedFace = 'stdio' | 'json' | 'event stream';

interface Asked {
  id?: number;
  method: string;
  params?: { arguments?: { query?: string } };
}

const entryText = 'failed requests are retried, says this page, '.repeat(20);
/** Every entry ends with it, so that one that was cut in the middle shows. */
export const entryEnd = 'and here it ends.';

const tool = {
  name: 'search_docs',
  description: 'Searches the documentation.',
  inputSchema: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  annotations: { readOnlyHint: true },
};

/** Answers `bytes` bytes, but briefly to what holds the word "brief". */
function createAnswering(bytes: number): (asked: Asked) => string | undefined {
  const entries: object[] = [];
  for (let size = 0; size < bytes - 10_000; size += entryText.length + 100) {
    entries.push({ title: `Page ${entries.length}`, content: `${entries.length} ${entryText}${entryEnd}` });
  }
  const long = JSON.stringify({ content: [], structuredContent: { results: entries } });
  const short = JSON.stringify({ content: [{ type: 'text', text: 'A short answer about retries.' }] });

  return ({ id, method, params }) => {
    if (id === undefined) return undefined;
    if (method === 'tools/call') {
      const isBrief = params?.arguments?.query?.includes('brief') ?? false;
      if (isBrief) return `{"jsonrpc":"2.0","id":${id},"result":${short}}`;
      return `${`{"jsonrpc":"2.0","id":${id},"result":${long}`.padEnd(bytes - 1)}}`;
    }
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'sized', version: '1.0.0' },
      },
      'tools/list': { tools: [tool] },
      ping: {},
    };
    const result = results[method];
    return result === undefined
      ? JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } })
      : JSON.stringify({ jsonrpc: '2.0', id, result });
  };
}

export async function startSizedServer(bytes: number, face: Exclude<SizedFace, 'stdio'>): Promise<RunningServer> {
  const answer = createAnswering(bytes);
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const message = answer(JSON.parse(Buffer.concat(chunks).toString()));
    if (message === undefined) return void response.writeHead(202).end();
    const type = face === 'json' ? 'application/json' : 'text/event-stream';
    response.writeHead(200, { 'content-type': type });
    response.end(face === 'json' ? message : `event: message\nid: 1\ndata: ${message}\n\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

export function sizedStdio(bytes: number) {
  return childProgram(import.meta.url, String(bytes));
}

if (import.meta.main) {
  const answer = createAnswering(Number(process.argv[2]));
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const message = answer(JSON.parse(line));
    if (message !== undefined) process.stdout.write(`${message}\n`);
  });
  lines.on('close', () => process.exit(0));
}
