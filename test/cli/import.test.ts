import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import type { z } from 'zod';
import type { importView } from '../../src/http/routes/import.ts';
import { findClientConfigs } from '../../src/registry/client-files.ts';
import { type AggregatorProcess, startAggregator } from '../support/aggregator-process.ts';
import { stdioFeatureServer } from '../support/servers/feature-server.ts';
import { commandsOf } from './command-line.ts';

let aggregator: AggregatorProcess;
let run: ReturnType<typeof commandsOf>['run'];
let json: ReturnType<typeof commandsOf>['json'];
const home = mkdtempSync(join(tmpdir(), 'import-home-'));
const fixture = stdioFeatureServer('modern', { label: 'imported' });

before(async () => {
  aggregator = await startAggregator();
  ({ run, json } = commandsOf(aggregator));
});
after(async () => {
  await aggregator.stop();
  rmSync(home, { recursive: true, force: true });
});

function write(path: string, content: unknown): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

interface Outcome {
  client: string;
  key: string;
  name: string | null;
  outcome: string;
}

test('import without files finds the configs of every client on this machine', async () => {
  const cwd = join(home, 'project');
  mkdirSync(cwd, { recursive: true });
  const place = (client: string, end: string) => {
    const found = findClientConfigs({ home, platform: process.platform, cwd, env: {} }).find(
      (file) => file.client === client && file.path.endsWith(end),
    );
    return found?.path ?? assert.fail(`${client} has no ${end}`);
  };
  write(place('Claude Desktop', 'claude_desktop_config.json'), { mcpServers: { 'Desk Top': fixture } });
  write(place('Claude Code', '.claude.json'), {
    projects: { [cwd]: { mcpServers: { code: fixture } } },
    mcpServers: { 'desk-top': fixture },
  });
  write(place('Cursor', 'mcp.json'), {
    mcpServers: { cursor: { ...fixture, env: { A: 'b' }, disabled: true }, code: { url: 'https://127.0.0.1:9/mcp' } },
  });
  write(place('VS Code', join('Code', 'User', 'mcp.json')), '{ // mine\n "servers": { "vs": { "type": "teapot" }, } }');
  write(place('VS Code', join('Code', 'User', 'settings.json')), { 'editor.fontSize': 12 });
  write(place('Windsurf', 'mcp_config.json'), { mcpServers: { self: { serverUrl: `${aggregator.url}/mcp` } } });

  const env = { HOME: home };
  const looked = await run(['import', '--dry-run', '--json'], { env, cwd });
  const results: Outcome[] = JSON.parse(looked.stdout).results;
  assert.deepEqual(
    results.map(({ client, key, name, outcome }) => [client, key, name, outcome]),
    [
      ['Claude Desktop', 'Desk Top', 'desk-top', 'would_register'],
      ['Claude Code', 'desk-top', 'desk-top', 'duplicate'],
      ['Claude Code', 'code', 'code', 'would_register'],
      ['Cursor', 'cursor', 'cursor', 'would_register'],
      ['Cursor', 'code', 'code-2', 'would_register'],
      ['VS Code', 'vs', null, 'invalid'],
      ['Windsurf', 'self', null, 'skipped'],
    ],
  );
  assert.equal(looked.code, 1);

  const unasked = await run(['import'], { env, cwd });
  assert.equal(unasked.code, 2);
  assert.match(unasked.stderr, /confirm with --yes/);
  assert.equal((await json<{ total: number }>('list')).total, 0);

  const done = await run(['import', '--yes'], { env, cwd });
  assert.match(done.stdout, /registered +desk-top +STDIO .*CONNECTED, \d+ tools/);
  assert.match(done.stdout, /invalid +vs .*transport_type must be one of/);
  assert.match(done.stdout, /registered +code-2 .*ERROR: .*another server is named code/);
  assert.equal(done.code, 1);
  assert.match(done.stderr, /1 server could not be imported.*\n1 server registered but not connected/);
  const { servers } = await json<{ servers: { name: string; status: string }[] }>('list');
  assert.deepEqual(
    servers.map(({ name, status }) => [name, status]),
    [
      ['code', 'CONNECTED'],
      ['code-2', 'ERROR'],
      ['cursor', 'DISCONNECTED'],
      ['desk-top', 'CONNECTED'],
    ],
  );
  assert.equal((await json<{ origin: string }>('show', 'code')).origin, 'import');

  const again = await run(['import', '--yes', '--json'], { env, cwd });
  const outcomes: Outcome[] = JSON.parse(again.stdout).results;
  assert.equal(outcomes.filter(({ outcome }) => outcome === 'already_exists').length, 4);
});

test('import of named files: one that is missing, broken or without servers says so', async () => {
  assert.equal((await run(['import', join(home, 'nowhere.json')])).code, 4);
  const broken = await run(['import', '--yes', write(join(home, 'broken.json'), '{"mcpServers": ')]);
  assert.equal(broken.code, 1);
  assert.match(broken.stdout, /cannot be read/);
  const empty = await run(['import', '--yes', write(join(home, 'other.json'), { fontSize: 12 })]);
  assert.equal(empty.code, 1);
  assert.match(empty.stdout, /contains no "mcpServers"/);
});

test('a server that is disabled in one client and enabled in another is imported once, enabled', async () => {
  const desk = join(home, 'two');
  const off = { ...fixture, env: { DESK: 'two' }, disabled: true };
  const files = findClientConfigs({ home: desk, platform: process.platform, cwd: desk, env: {} });
  const fileOf = (client: string) => files.find((file) => file.client === client)?.path ?? assert.fail(client);
  write(fileOf('Claude Desktop'), { mcpServers: { first: off } });
  write(fileOf('Cursor'), { mcpServers: { second: { ...off, disabled: false } } });
  write(fileOf('Windsurf'), { mcpServers: { third: off } });
  write(fileOf('Gemini CLI'), '');
  const { stdout, stderr } = await run(['import', '--dry-run', '--json'], { env: { HOME: desk }, cwd: desk });
  const { results } = JSON.parse(stdout) as { results: (Outcome & { notes: string[] })[] };
  assert.deepEqual(
    results.map(({ key, outcome, notes }) => [key, outcome, ...notes]),
    [
      ['first', 'skipped', 'disabled here, and enabled as second of Cursor'],
      ['second', 'would_register'],
      ['third', 'skipped', 'disabled here, and enabled as second of Cursor'],
    ],
    stderr,
  );
});

test('import finds nothing on a machine without clients', async () => {
  const bare = join(home, 'bare');
  mkdirSync(bare);
  const { code, stderr } = await run(['import'], { env: { HOME: bare }, cwd: bare });
  assert.equal(code, 0);
  assert.match(stderr, /No servers found/);
});

async function post(path: string, body: string, token = aggregator.token) {
  const response = await fetch(`${aggregator.url}/api/v1/aggregator/servers/import${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body,
  });
  return { status: response.status, answer: (await response.json()) as z.infer<typeof importView> };
}

test('API-022: POST /servers/import answers for each server, and one that is wrong spoils nothing', async () => {
  const other = { ...fixture, env: { OTHER: '1' } };
  const mcpServers = { 'desk-top': fixture, 'Over REST': { ...other, disabled: true }, wrong: { url: 'ftp://x' } };
  const body = JSON.stringify({ mcpServers });
  const outcomes = (answer: z.infer<typeof importView>) => answer.results.map(({ key, outcome }) => [key, outcome]);

  const dry = await post('?dry_run=true', body);
  assert.deepEqual(outcomes(dry.answer), [
    ['wrong', 'invalid'],
    ['desk-top', 'already_exists'],
    ['Over REST', 'would_register'],
  ]);
  const { status, answer } = await post('', body);
  assert.equal(status, 200);
  assert.deepEqual(outcomes(answer), [
    ['wrong', 'invalid'],
    ['desk-top', 'already_exists'],
    ['Over REST', 'registered'],
  ]);
  assert.deepEqual([answer.registered, answer.already_exists, answer.invalid], [1, 1, 1]);
  assert.deepEqual(answer.results[2]?.warnings[0], '"Over REST" became "over-rest"');
});

test('POST /servers/import refuses what is no object, unknown flags and callers', async () => {
  assert.equal((await post('', '[]')).status, 422);
  assert.equal((await post('?dry=1', '{}')).status, 422);
  const token = (await run(['token', 'create', 'someone'])).stdout.trim();
  assert.equal((await post('', '{}', token)).status, 403);
});
