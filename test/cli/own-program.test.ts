import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { stablePath, withoutScriptFolders } from '../../src/cli/own-program.ts';
import { runCommand } from './command-line.ts';

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

suite('PATH as the user has it, without the folders that npm puts in front of it', () => {
  const npm = { npm_lifecycle_event: 'cli' };
  const cases: [how: string, environment: NodeJS.ProcessEnv, separator: string, PATH: string][] = [
    [
      'npm run',
      {
        ...npm,
        PATH: '/src/node_modules/.bin:/node_modules/.bin:/usr/lib/node_modules/npm/node_modules/@npmcli/run-script/lib/node-gyp-bin:/home/a/node_modules/bin:/usr/bin',
      },
      ':',
      '/home/a/node_modules/bin:/usr/bin',
    ],
    ['npx', { npm_lifecycle_event: 'npx', PATH: '/home/a/.npm/_npx/1/node_modules/.bin:/usr/bin' }, ':', '/usr/bin'],
    ['Windows', { ...npm, Path: 'C:\\src\\node_modules\\.bin;C:\\Windows' }, ';', 'C:\\Windows'],
    [
      'a folder that the user put there',
      { PATH: '/src/node_modules/.bin:/usr/bin' },
      ':',
      '/src/node_modules/.bin:/usr/bin',
    ],
  ];
  for (const [how, environment, separator, expected] of cases)
    test(how, () => {
      const { PATH, Path } = withoutScriptFolders(environment, separator);
      assert.equal(Path ?? PATH, expected);
    });
});

test('the service that `npm run` installs has the PATH of the user', {
  skip: process.platform !== 'linux' && 'the unit of systemd',
}, async () => {
  const env = { npm_lifecycle_event: 'cli', PATH: `/src/node_modules/.bin:${process.env.PATH}` };
  const { stdout } = await runCommand(['service', 'install', '--print'], { env });
  assert.match(stdout, /^Environment="?PATH=/m);
  assert.doesNotMatch(stdout, /node_modules\/\.bin/);
});
