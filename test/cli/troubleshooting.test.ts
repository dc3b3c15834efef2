/** What a user reads when something is wrong: every row of docs/troubleshooting.md, from real programs. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type AggregatorProcess, program, startAggregator } from '../support/aggregator-process.ts';
import { type NpmRegistry, startNpmRegistry } from '../support/npm-registry.ts';
import { freePort } from '../support/ports.ts';
import { commandsOf, everything, type Ran, type RunOptions, runCommand } from './command-line.ts';

const page = readFileSync(new URL('../../docs/troubleshooting.md', import.meta.url), 'utf8');
const deskServer = fileURLToPath(new URL('../journeys/desk-server.js', import.meta.url));

/** The first two cells of every row, without their backticks. */
function rowsOf(heading: string): [string, string][] {
  const section = page.split(/^## /m).find((one) => one.startsWith(`${heading}\n`)) ?? assert.fail(heading);
  const rows = section.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| problem'));
  const cells = rows.map((row) => row.split(' | ').map((cell) => cell.replace(/^\| |\|$/g, '').trim()));
  return cells
    .map(([first = '', second = '']): [string, string] => [plain(first), plain(second)])
    .filter(([first]) => first !== 'command');
}

const plain = (cell: string) => cell.replace(/^`(.*)`$/, '$1');

/** `…` stands for anything. */
function assertSays(said: string, expected: string): void {
  const pattern = expected
    .split('…')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('[\\s\\S]*');
  assert.match(said.trim(), new RegExp(`^${pattern}$`));
}

const directory = mkdtempSync(join(tmpdir(), 'trouble-'));
after(() => rmSync(directory, { recursive: true, force: true }));

suite('CLI-003: typos', () => {
  let aggregator: AggregatorProcess;
  let run: (words: string[], options?: RunOptions) => Promise<Ran>;
  before(async () => {
    aggregator = await startAggregator();
    ({ run } = commandsOf(aggregator));
    for (const name of ['files', 'notes'])
      assert.equal((await run(['add', name, '--', process.execPath, deskServer, name])).code, 0);
    assert.equal((await run(['add', 'everything', '--', ...everything])).code, 0);
    assert.equal((await run(['profile', 'set', 'coding', '--server', 'files'])).code, 0);
  });
  after(() => aggregator.stop());

  for (const [command, answer] of rowsOf('Typos')) {
    test(command, async () => {
      const { code, stderr } = await run(command.split(' ').slice(1));
      assert.notEqual(code, 0);
      assertSays(stderr.replace(/^error: /, ''), answer);
    });
  }
});

suite('CLI-004: servers that do not start', { concurrency: 4 }, () => {
  let registry: NpmRegistry;
  let aggregator: AggregatorProcess;
  let impatient: AggregatorProcess;
  let web: Server;

  before(async () => {
    registry = await startNpmRegistry([
      { manifest: { name: 'notes-server', version: '1.0.0', bin: 'server.js' }, files: { 'server.js': '' } },
      { manifest: { name: 'a-library', version: '1.0.0' } },
      {
        manifest: { name: 'modern-server', version: '1.0.0', bin: 'server.js', engines: { node: '>=99' } },
        files: { 'server.js': '#!/usr/bin/env node\nimport "node:future";\n' },
      },
    ]);
    // npm reads its registry from the home directory of whom it runs for.
    writeFileSync(join(directory, '.npmrc'), `registry=${registry.url}\nupdate-notifier=false\n`);
    web = createServer((_request, response) => void response.writeHead(404).end()).listen(0, '127.0.0.1');
    await once(web, 'listening');
    const PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`;
    const env = { HOME: directory, USERPROFILE: directory, PATH };
    aggregator = await startAggregator({ env });
    impatient = await startAggregator({ env: { ...env, MCP_AGGREGATOR_CONNECTION_TIMEOUT: '2' } });
  });
  after(async () => {
    await aggregator.stop();
    await impatient.stop();
    await registry.close();
    web.close();
  });

  const script = (name: string, content: string) => {
    const path = join(directory, name);
    writeFileSync(path, content);
    return path;
  };
  const node = (name: string, content: string) => ['--', process.execPath, script(name, content)];
  const webUrl = () => `http://127.0.0.1:${(web.address() as AddressInfo).port}/`;

  /** What follows `add <name>`. */
  const cases: Record<string, () => string[] | Promise<string[]>> = {
    'the command is misspelled': () => ['--', 'nxp', '-y', 'notes-server'],
    'the command is not installed': () => ['--', 'a-server'],
    'a file may not be executed': () => ['--', script('server.sh', '#!/bin/sh\n')],
    'the working directory is missing': () => ['--cwd', join(directory, 'nowhere'), '--', process.execPath],
    'the npm package does not exist': () => ['--', 'npx', '-y', '@acme/no-such-server'],
    'the version does not exist': () => ['--', 'npx', '-y', 'notes-server@99'],
    'the package has no program': () => ['--', 'npx', '-y', 'a-library'],
    'the package needs another Node': () => ['--', 'npx', '-y', 'modern-server'],
    'the file of the server is missing': () => ['--', process.execPath, join(directory, 'missing.js')],
    'the server misses a file': () =>
      node('reader.js', `require('node:fs').readFileSync(${JSON.stringify(join(directory, 'settings.json'))})`),
    'a syntax error': () => node('broken.js', 'const = 1;\n'),
    'a variable of the entry is not set': () => ['--env', 'TOKEN=${NOTES_TOKEN}', ...node('fine.js', '')],
    'the server asks for a variable': () => node('demanding.js', 'throw new Error("NOTES_TOKEN is required")'),
    'the file of variables is missing': () => ['--dotenv', join(directory, 'missing.env'), ...node('fine.js', '')],
    'the port of the server is in use': () =>
      node('listener.js', `require('node:http').createServer().listen(${new URL(webUrl()).port}, '127.0.0.1')`),
    'it is not an MCP server': () => node('hello.js', 'console.error("Hello!")'),
    'it never answers': () =>
      node('http.js', 'console.error("Listening on port 3000"); setInterval(() => undefined, 1_000)'),
    'nothing listens at the address': async () => [`http://127.0.0.1:${await freePort()}/mcp`],
    'the address is not the endpoint': () => [webUrl()],
    'plain http in a private network': () => ['http://gitea-mcp:8080/mcp'],
  };
  const rows = rowsOf('A server does not start');

  test('each of them is in the documentation', () =>
    assert.deepEqual(
      rows.map(([problem]) => problem),
      Object.keys(cases),
    ));

  for (const [at, [problem, error]] of rows.entries()) {
    test(problem, async () => {
      const { run } = commandsOf(problem === 'it never answers' ? impatient : aggregator);
      const name = `server-${at}`;
      const words = (await cases[problem]?.()) ?? assert.fail('no such case');
      const { code, stderr } = await run(['add', name, ...words]);
      assert.notEqual(code, 0);
      const [first = ''] = stderr.split('\nMore: ');
      assertSays(first.replace(/^error: (?:[\w-]+: ERROR: )?/, ''), error);
      await run(['remove', name, '--yes']);
    });
  }
});

suite('CLI-004: an aggregator that does not start', () => {
  async function serve(env: Record<string, string>, nodeFlags: string[] = []): Promise<string> {
    const child = spawn(process.execPath, [...nodeFlags, program, 'serve'], {
      env: { PATH: process.env.PATH ?? '', HOME: directory, MCP_AGGREGATOR_PORT: '0', ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    assert.notEqual(code, 0);
    return stderr.replace(/^error: /, '');
  }
  const taken = (t: { after(task: () => unknown): void }) => {
    const server = createServer().listen(0, '127.0.0.1');
    t.after(() => server.close());
    return once(server, 'listening').then(() => String((server.address() as AddressInfo).port));
  };
  /** In front of the program, as an older Node would say it. */
  const olderNode =
    'data:text/javascript,Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.19.0" } })';

  const cases: Record<string, (t: { after(task: () => unknown): void }) => Promise<string>> = {
    'the port is in use': async (t) =>
      serve({ MCP_AGGREGATOR_PORT: await taken(t), MCP_AGGREGATOR_DATA_DIR: join(directory, 'port') }),
    async 'another one has the data directory'(t) {
      const first = await startAggregator();
      t.after(() => first.stop());
      return await serve({ MCP_AGGREGATOR_DATA_DIR: first.dataDir });
    },
    'a setting is invalid': () => serve({ MCP_AGGREGATOR_PORT: 'eighty' }),
    async 'the config file is not JSON'() {
      mkdirSync(join(directory, 'config'));
      const file = join(directory, 'config', 'servers.json');
      writeFileSync(file, '{ "mcpServers": ');
      return await serve({ MCP_AGGREGATOR_CONFIG: file });
    },
    'Node is too old': () => serve({}, ['--import', olderNode]),
    'a command finds no aggregator': async () => {
      const env = { MCP_AGGREGATOR_PORT: String(await freePort()), MCP_AGGREGATOR_DATA_DIR: join(directory, 'none') };
      return (await runCommand(['list'], { env })).stderr.replace(/^error: /, '');
    },
  };
  const rows = rowsOf('The aggregator does not start');

  test('each of them is in the documentation', () =>
    assert.deepEqual(
      rows.map(([problem]) => problem),
      Object.keys(cases),
    ));

  for (const [problem, error] of rows) test(problem, async (t) => assertSays((await cases[problem]?.(t)) ?? '', error));
});
