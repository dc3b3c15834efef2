/**
 * MCP clients that are web pages. A browser lets a page of another origin read our answers, and send more than the
 * simplest requests, only where we say so. Cookies never count from there: such a page needs a token.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isAllowedOrigin } from '../security/policy.ts';

const exposed = 'mcp-session-id, www-authenticate, retry-after, x-request-id';
const methods = 'GET, POST, PUT, PATCH, DELETE';
const rememberedSeconds = '7200';

/** Tells whether the request was only the browser's question before the page's own one; then it is answered. */
export function createCors(allowedOrigins: readonly string[]) {
  return ({ method, headers }: IncomingMessage, response: ServerResponse): boolean => {
    const { origin } = headers;
    if (origin === undefined || !isAllowedOrigin(origin, headers.host, allowedOrigins)) return false;
    response.setHeader('access-control-allow-origin', origin);
    response.setHeader('access-control-expose-headers', exposed);
    response.setHeader('vary', 'origin');
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false;
    response.setHeader('access-control-allow-methods', methods);
    response.setHeader('access-control-allow-headers', headers['access-control-request-headers'] ?? '');
    response.setHeader('access-control-max-age', rememberedSeconds);
    // Chromium asks for more where a public page calls a program on this machine.
    if (headers['access-control-request-private-network'] === 'true')
      response.setHeader('access-control-allow-private-network', 'true');
    response.writeHead(204).end();
    return true;
  };
}
