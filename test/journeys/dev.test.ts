/** `npm run dev` is the real server, started again when a source changes. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cleanEnvironment } from '../support/aggregator-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const startTimeoutMs = 60_000;
/** npm scripts use the Node 24 of the development dependencies; the watch mode of Node 22 was seen to hang here. */
const skip = Number.parseInt(process.versions.node, 10) < 24 ? 'npm run dev needs Node 24' : false;

test('npm run dev listens, and listens again after a change of a source', { skip, timeout: 150_000 }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'dev-'));
  t.after(() => rmSync(directory, { recursive: true, force: true, maxRetries: 10 }));
  for (const name of ['bin', 'src', 'package.json'])
    cpSync(join(root, name), join(directory, name), { recursive: true });
  for (const name of ['assets', 'node_modules']) symlinkSync(join(root, name), join(directory, name), 'junction');

  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const [program, ...words] = scripts.dev.split(' ');
  assert.equal(program, 'node');
  const data = join(directory, 'data');
  const child = spawn(process.execPath, words, {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...cleanEnvironment(directory), MCP_AGGREGATOR_PORT: '0', MCP_AGGREGATOR_DATA_DIR: data },
  });
  t.after(async () => {
    child.kill();
    if (child.exitCode === null && child.signalCode === null)
      await new Promise((resolve) => child.once('exit', resolve));
  });
  const lines = createInterface({ input: child.stderr })[Symbol.asyncIterator]();
  const output: string[] = [];
  const untilListening = async (): Promise<string> => {
    const late = AbortSignal.timeout(startTimeoutMs);
    late.addEventListener('abort', () => child.kill());
    for (let next = await lines.next(); next.done !== true; next = await lines.next()) {
      output.push(next.value);
      const record = next.value.startsWith('{') ? JSON.parse(next.value) : {};
      if (record.msg === 'mcp-aggregator is listening') return record.url;
    }
    throw new Error(`The server did not listen:\n${output.join('\n')}`);
  };

  const first = await untilListening();
  assert.equal((await fetch(`${first}/api/v1/aggregator/health`)).status, 200);
  appendFileSync(join(directory, 'src/version.ts'), '\n');
  const second = await untilListening();
  assert.equal((await fetch(`${second}/api/v1/aggregator/health`)).status, 200);
});
