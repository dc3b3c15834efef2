/** A loopback listener that receives one redirect from an identity provider (RFC 8252). */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { pageHeaders, problemPage } from '../oauth/pages.ts';
import { CommandFailure } from './exit-code.ts';

interface LoopbackRedirect {
  readonly redirectUri: string;
  /** The redirect with our state; the caller shows the result in the browser. */
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
    // Any page can send a browser here, so the state must match; it is valid once.
    if (!isOurs || isAnswered || searchParams.get('state') !== state) {
      return void show(response, problemPage('This page does not belong to the current sign-in; start again.'), 400);
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
      const timer = setTimeout(
        late.reject,
        timeoutMs,
        new CommandFailure('failed', 'Timed out waiting for the sign-in.'),
      );
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
