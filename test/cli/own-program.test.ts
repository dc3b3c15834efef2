import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { stablePath } from '../../src/cli/own-program.ts';

/** Links by their target. */
const links: Record<string, string> = {
  '/opt/homebrew/bin/node': '/opt/homebrew/Cellar/node/24.1.0/bin/node',
  '/opt/homebrew/opt/node/bin/node': '/opt/homebrew/Cellar/node/24.1.0/bin/node',
  '/usr/local/bin/mcp-aggregator': '/usr/local/lib/node_modules/mcp-aggregator/bin/mcp-aggregator.js',
  '/home/a/.npm/_npx/1/node_modules/.bin/mcp-aggregator':
    '/home/a/.npm/_npx/1/node_modules/mcp-aggregator/bin/mcp-aggregator.js',
};
const files = new Set([...Object.keys(links), ...Object.values(links), '/usr/bin/node']);
const machine = { exists: (path: string) => files.has(path), real: (path: string) => links[path] ?? path };

suite('paths that stay when the version of a package goes', () => {
  const cases: [path: string, PATH: string, stable: string][] = [
    ['/opt/homebrew/Cellar/node/24.1.0/bin/node', '/usr/bin', '/opt/homebrew/opt/node/bin/node'],
    ['/usr/bin/node', '/usr/bin', '/usr/bin/node'],
    ['/usr/local/bin/mcp-aggregator', '/usr/local/bin:/usr/bin', '/usr/local/bin/mcp-aggregator'],
    // The folder of npx is on PATH while it runs, and gone later.
    [
      '/home/a/.npm/_npx/1/node_modules/.bin/mcp-aggregator',
      '/home/a/.npm/_npx/1/node_modules/.bin:/usr/bin',
      '/home/a/.npm/_npx/1/node_modules/mcp-aggregator/bin/mcp-aggregator.js',
    ],
  ];
  for (const [path, PATH, stable] of cases) test(path, () => assert.equal(stablePath(path, { PATH }, machine), stable));
});
