/** CORS for MCP clients that run in web pages. Cookies are ignored for other origins: such pages need a token. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isAllowedOrigin } from '../security/policy.ts';

const exposed = 'mcp-session-id, www-authenticate, retry-after, x-request-id';
const methods = 'GET, POST, PUT, PATCH, DELETE';
const rememberedSeconds = '7200';

/** Answers CORS preflight requests; returns true if the request was one. */
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
    // Chromium's Private Network Access requires this header when a public page calls a local address.
    if (headers['access-control-request-private-network'] === 'true')
      response.setHeader('access-control-allow-private-network', 'true');
    response.writeHead(204).end();
    return true;
  };
}
