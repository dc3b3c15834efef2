import { text } from 'node:stream/consumers';
import { listenLocally, openEventStream, type RunningServer, writeEvent } from './http-wire.ts';

/**
 * A server on stdio whose tools answer with text that the test has written, line by line: `{{id}}` stands for the
 * request's id, `{{token}}` for its progress token.
 */
export function stdioWritten(answers: Record<string, string>): { command: string; args: string[] } {
  const program = `
    const write = ${write.toString()};
    const answers = ${JSON.stringify(answers)};
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const request = JSON.parse(line);
      if (request.id !== undefined) process.stdout.write(write(answers, request) + '\\n');
    });`;
  return { command: process.execPath, args: ['-e', program] };
}

/** The same over Streamable HTTP, where the lines of an answer are the events of a stream. `@name …` names the event. */
export function startWritten(answers: Record<string, string>): Promise<RunningServer> {
  return listenLocally('/mcp', 0, () => ({
    close: () => undefined,
    async handle(request, response) {
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const message = JSON.parse(await text(request));
      if (message.id === undefined) return void response.writeHead(202).end();
      if (message.method === 'server/discover') return void response.writeHead(400).end();
      const lines = write(answers, message).split('\n');
      if (lines.length === 1) return void response.writeHead(200, { 'content-type': 'application/json' }).end(lines[0]);
      openEventStream(response);
      for (const line of lines) {
        const [, event, data = line] = /^@(\w+) (.*)/.exec(line) ?? [];
        writeEvent(response, event === undefined ? { data } : { event, data });
      }
      response.end();
    },
  }));
}

interface Asked {
  id: unknown;
  method: string;
  params?: { name?: string; _meta?: { progressToken?: unknown } };
}

/** Complete in itself: it is also the program of a child. */
function write(answers: Record<string, string>, { id, method, params }: Asked): string {
  const results: Record<string, object> = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'w', version: '1' } },
    'tools/list': { tools: Object.keys(answers).map((name) => ({ name, inputSchema: { type: 'object' } })) },
  };
  const written = method === 'tools/call' ? answers[params?.name ?? ''] : undefined;
  if (written === undefined) return JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} });
  return written
    .replaceAll('{{id}}', String(id))
    .replaceAll('{{token}}', String(params?._meta?.progressToken))
    .replaceAll(/{{(\d+) of (.*?)}}/g, (_, count, what) => what.repeat(Number(count)));
}
