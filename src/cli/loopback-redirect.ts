/** Where the browser comes back to from an identity provider: a listener on this machine, for one answer (RFC 8252). */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { pageHeaders, problemPage } from '../oauth/pages.ts';
import { CommandFailure } from './exit-code.ts';

interface LoopbackRedirect {
  readonly redirectUri: string;
  /** The one answer with our state; whoever takes it shows the browser what became of it. */
  answer(timeoutMs: number): Promise<RedirectAnswer>;
  close(): Promise<void>;
}

interface RedirectAnswer {
  parameters: URLSearchParams;
  show(page: string, status?: number): Promise<void>;
}

const path = '/callback';

export async function createLoopbackRedirect({
  port,
  state,
}: {
  port: number;
  state: string;
}): Promise<LoopbackRedirect> {
  const { promise, resolve } = Promise.withResolvers<RedirectAnswer>();
  let isAnswered = false;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', redirectUri);
    const isOurs = request.method === 'GET' && pathname === path && request.headers.host === host;
    // Any page may send a browser here; only the provider that we sent it to knows the state, and it is good once.
    if (!isOurs || isAnswered || searchParams.get('state') !== state) {
      return void show(response, problemPage('This is not the sign-in that was begun; begin again.'), 400);
    }
    isAnswered = true;
    resolve({ parameters: searchParams, show: (page, status) => show(response, page, status) });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const host = `127.0.0.1:${typeof address === 'object' && address !== null ? address.port : port}`;
  const redirectUri = `http://${host}${path}`;

  return {
    redirectUri,
    async answer(timeoutMs) {
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(late.reject, timeoutMs, new CommandFailure('failed', 'Nobody signed in in time.'));
      try {
        return await Promise.race([promise, late.promise]);
      } finally {
        clearTimeout(timer);
      }
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function show(response: ServerResponse, page: string, status = 200): Promise<void> {
  response.writeHead(status, {
    ...pageHeaders,
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    connection: 'close',
  });
  response.end(page);
  await once(response, 'close');
}
