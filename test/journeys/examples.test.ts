/** The examples run as their README says. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { settings } from '../../src/config/settings.ts';
import { cleanEnvironment } from '../support/aggregator-process.ts';

const examples = fileURLToPath(new URL('../../examples/', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'examples-'));
const env = { ...cleanEnvironment(directory), MCP_AGGREGATOR_DATA_DIR: directory, MCP_AGGREGATOR_PORT: '0' };
let started: ReturnType<typeof spawn>;

before(
  async () => {
    started = spawn(process.execPath, [join(examples, 'start.js')], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const { stdout, stderr } = started;
    if (stdout === null || stderr === null) throw new Error('The output is not piped.');
    const log: string[] = [];
    createInterface({ input: stderr }).on('line', (line) => log.push(line));
    for await (const line of createInterface({ input: stdout })) if (line.startsWith('Ready at http://')) return;
    throw new Error(`examples/start.js ended:\n${log.join('\n')}`);
  },
  { timeout: 150_000 },
);
after(
  async () => {
    if (started.exitCode === null) {
      started.kill();
      await once(started, 'exit');
    }
    rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
  },
  { timeout: 60_000 },
);

test('rest.js shows three connected servers, a result and found tools', async () => {
  const output = await run('rest.js');
  assert.match(output, /^Health: healthy$/m);
  for (const name of ['clock', 'files', 'memory']) {
    assert.match(output, new RegExp(`^Server ${name}: CONNECTED, [1-9]\\d* tools$`, 'm'));
  }
  assert.match(output, /^In Tokyo: .*GMT\+9$/m);
  assert.match(output, /^Found files\.read_/m);
});

test('mcp-client.js calls tools of several servers through one endpoint', async () => {
  const output = await run('mcp-client.js');
  assert.match(output, /^\d+ tools, for example: /m);
  assert.match(output, /likes tea/);
  assert.match(output, /^In Zurich: \w+day/m);
});

test('start.js ends with its signal, and everything with it', async () => {
  started.kill();
  assert.deepEqual(await once(started, 'exit'), [0, null]);
  await assert.rejects(run('rest.js'));
});

test('the README names every file, and the config file only settings that exist', () => {
  const readme = readFileSync(join(examples, 'README.md'), 'utf8');
  for (const file of readdirSync(examples).filter((name) => name !== 'README.md' && name !== 'data')) {
    assert.ok(readme.includes(`| [${file}](${file}) |`), file);
  }
  const config = JSON.parse(readFileSync(join(examples, 'servers.json'), 'utf8'));
  for (const name of Object.keys(config.settings)) assert.ok(name in settings, name);
});

async function run(name: string): Promise<string> {
  return (await promisify(execFile)(process.execPath, [join(examples, name)], { env, timeout: 60_000 })).stdout;
}
