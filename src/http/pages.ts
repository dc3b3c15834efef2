/** The dashboard as it was built, served from memory. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';

interface Page {
  type: string;
  body: Buffer;
  compressed: { br?: Buffer; gzip?: Buffer };
  cacheControl: string;
}

const folder = fileURLToPath(new URL('../../dist-web', import.meta.url));
const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** Only our own files and no inline script; tool results may contain images and audio as data. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data: blob:",
  'media-src data: blob:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const notBuilt: Page = {
  type: 'text/html; charset=utf-8',
  body: Buffer.from(`<!doctype html><html lang="en"><meta charset="utf-8"><title>mcp-aggregator</title>
<h1>The dashboard is not built yet</h1>
<p>The aggregator itself is running. In its folder, run <code>npm run build:web</code>, then start it again.</p></html>`),
  compressed: {},
  cacheControl: 'no-store',
};

/** Pages need no token: they contain no data and load everything through the API. */
export function mountPages(app: FastifyInstance): void {
  for (const [path, page] of loadPages()) {
    app.get(path, async (request, reply) => {
      const { encoding, body } = choose(page, String(request.headers['accept-encoding'] ?? ''));
      reply
        .type(page.type)
        .header('cache-control', page.cacheControl)
        .header('vary', 'accept-encoding')
        .header('content-security-policy', contentSecurityPolicy)
        .header('referrer-policy', 'no-referrer')
        .header('cross-origin-opener-policy', 'same-origin')
        .header('x-frame-options', 'DENY');
      if (encoding !== undefined) reply.header('content-encoding', encoding);
      return reply.send(body);
    });
  }
}

function loadPages(): Map<string, Page> {
  if (!existsSync(join(folder, 'index.html'))) return new Map([['/', notBuilt]]);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => extname(name) in types);
  return new Map(
    files.map((name) => {
      const path = `/${relative(folder, join(folder, name)).split(sep).join('/')}`;
      return [path === '/index.html' ? '/' : path, loadPage(join(folder, name), path)];
    }),
  );
}

function loadPage(file: string, path: string): Page {
  const compressed = (suffix: string) => (existsSync(file + suffix) ? readFileSync(file + suffix) : undefined);
  return {
    type: types[extname(file)] ?? 'application/octet-stream',
    body: readFileSync(file),
    compressed: { br: compressed('.br'), gzip: compressed('.gz') },
    // The names of assets hold a hash of their content.
    cacheControl: path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
  };
}

function choose({ body, compressed }: Page, accepted: string): { encoding?: string; body: Buffer } {
  const names = accepted.split(',').map((part) => part.split(';')[0]?.trim());
  if (compressed.br !== undefined && names.includes('br')) return { encoding: 'br', body: compressed.br };
  if (compressed.gzip !== undefined && names.includes('gzip')) return { encoding: 'gzip', body: compressed.gzip };
  return { body };
}
