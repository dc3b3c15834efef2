/** Servers that repeat every secret they were given, in every way and at every place that servers of the wild do. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { RpcError } from './json-rpc.ts';
import { createProgram, log, progress, structured, text } from './program.ts';
import { serveStdio } from './stdio-wire.ts';

/** A canary that is planted in a config: found again in whatever text a server was given. */
export const canaryPattern = /cn[0-9a-f]{24}/g;

export const leakingServer = fileURLToPath(import.meta.url);

/** The ways in which programs write a value. */
export function writtenWays(secret: string): string[] {
  return [
    secret,
    JSON.stringify({ secret }),
    encodeURIComponent(`key=${secret}`),
    Buffer.from(secret).toString('base64'),
    Buffer.from(`user:${secret}`).toString('base64'),
    Buffer.from(secret).toString('hex'),
    // Most texts are cut somewhere before 500 characters.
    `${'x'.repeat(185)}${secret}`,
    `${'x'.repeat(490)}${secret}`,
  ];
}

const leakyProse = (ways: string[]) => ({ title: ways.join(' '), description: ways.join('\n') });

const leakySchema = (ways: string[]) => ({
  type: 'object',
  description: ways.join(' '),
  properties: {
    // A parameter with the name of a keyword.
    pattern: { type: 'string', description: ways.join(' '), default: ways.join(' '), examples: ways },
  },
});

async function serveLeaks(): Promise<void> {
  const given = JSON.stringify([process.argv, process.env, process.cwd()]);
  const secrets = [...new Set(given.match(canaryPattern) ?? [])];
  const ways = secrets.flatMap(writtenWays);
  for (const way of ways) process.stderr.write(`${way}\n`);
  for (const way of ways) process.stdout.write(`${way}\n`);
  for (const secret of secrets) {
    // In two chunks, with time between them.
    process.stderr.write(`split ${secret.slice(0, 13)}`);
    await sleep(5);
    process.stderr.write(`${secret.slice(13)}\n`);
  }
  process.stderr.write(`${process.env.PEM ?? ''}\n`);
  if (process.argv.includes('--exit')) {
    process.stderr.write(`fatal: ${'x'.repeat(170)}${secrets.join(' ')}\n`);
    process.exit(1);
  }
  const tool = (name: string) => ({ name, ...leakyProse(ways), inputSchema: leakySchema(ways) });
  serveStdio(
    createProgram({
      info: { name: 'leaking', version: secrets.join(' ') },
      instructions: ways.join('\n'),
      tools: [
        { definition: tool('succeed'), call: () => structured({ secrets }) },
        { definition: tool('fail'), call: () => ({ ...text(ways.join('\n')), isError: true }) },
        {
          definition: tool('refuse'),
          call() {
            throw new RpcError(-32_000, ways.join(' '), { deep: [{ ways }] });
          },
        },
        {
          definition: tool('tell'),
          call(exchange) {
            for (const way of ways) log(exchange, 'info', { way });
            progress(exchange, 1, 2, ways.join(' '));
            return text('told');
          },
        },
        {
          definition: tool('die'),
          call(exchange) {
            exchange.hangUp();
            return text('gone');
          },
        },
      ],
    }),
    'legacy',
  );
}

export interface LeakingHttpServer {
  url: string;
  close(): void;
}

/** Leaks what stood in URLs and headers; `/sse` and `/refuses` do nothing else, `/token` refuses every client. */
export async function startLeakingServer(): Promise<LeakingHttpServer> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { pathname } = new URL(request.url ?? '/', url);
    const authorization = Buffer.from(request.headers.authorization?.split(' ')[1] ?? '', 'base64').toString();
    const given = JSON.stringify([request.url, request.headers, body, authorization]);
    const secrets = [...new Set(given.match(canaryPattern) ?? [])];
    const ways = secrets.flatMap(writtenWays);
    const json = (status: number, value: object, headers = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));

    if (pathname.startsWith('/.well-known/oauth-protected-resource')) {
      return json(200, { resource: `${url}/guarded`, authorization_servers: [url] });
    }
    if (pathname.startsWith('/.well-known/')) {
      return json(200, { issuer: url, authorization_endpoint: `${url}/authorize`, token_endpoint: `${url}/token` });
    }
    if (pathname === '/token') return json(400, { error: secrets[0], error_description: ways.join(' ') });
    if (pathname === '/guarded') return json(401, { ways }, { 'www-authenticate': 'Bearer' });
    if (pathname === '/refuses') return json(500, { error: { code: -32_603, message: ways.join(' ') } });
    if (pathname === '/html') return response.writeHead(500).end(`${'x'.repeat(190)}${secrets.join(' ')}`);
    if (!pathname.startsWith('/mcp') || request.method !== 'POST') return response.writeHead(418).end(ways.join('\n'));

    const { id, method, params } = JSON.parse(body);
    if (id === undefined) return response.writeHead(202).end();
    const result = (value: object) => json(200, { jsonrpc: '2.0', id, result: value });
    if (method === 'initialize') {
      const serverInfo = { name: 'leaking', version: '1' };
      const capabilities = { tools: {}, prompts: {}, resources: {}, logging: {} };
      return result({ protocolVersion: '2025-11-25', capabilities, serverInfo });
    }
    const prose = leakyProse(ways);
    if (method === 'prompts/list') {
      return result({ prompts: [{ name: 'p', ...prose, arguments: [{ name: 'a', ...prose }] }] });
    }
    if (method === 'resources/list') return result({ resources: [{ uri: 'leak://r', name: 'r', ...prose }] });
    if (method === 'resources/templates/list') {
      return result({ resourceTemplates: [{ uriTemplate: 'leak://t/{a}', name: 't', ...prose }] });
    }
    if (method === 'tools/list') {
      const names = ['succeed', 'fail', 'refuse', 'tell', 'html', 'cut'];
      return result({ tools: names.map((name) => ({ name, ...prose, inputSchema: leakySchema(ways) })) });
    }
    switch (params?.name) {
      case 'succeed':
        return result(structured({ secrets }));
      case 'fail':
        return result({ ...text(ways.join('\n')), isError: true });
      case 'html':
        return response.writeHead(500).end(`${'x'.repeat(185)}${secrets.join(' ')}`);
      case 'cut':
        return response.destroy();
      case 'tell': {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const data of ways) {
          const line = `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } })}\n\n`;
          response.write(line.slice(0, -20));
          await sleep(1);
          response.write(line.slice(-20));
        }
        return response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: text('told') })}\n\n`);
      }
      default:
        return json(200, { jsonrpc: '2.0', id, error: { code: -32_000, message: ways.join(' '), data: { ways } } });
    }
  }

  return {
    url,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

if (import.meta.main) await serveLeaks();
