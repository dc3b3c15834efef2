import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { claimDataDirectory } from '../../src/store/data-directory.ts';

test('a data directory has one owner until it is released', async (t) => {
  const parent = await mkdtemp(join(tmpdir(), 'owner-'));
  t.after(() => rm(parent, { recursive: true, force: true }));
  const directory = join(parent, 'deep', 'data');
  const first = claimDataDirectory(directory);
  assert.throws(() => claimDataDirectory(directory), {
    code: 'DATA_DIRECTORY_IN_USE',
    message: new RegExp(`^${directory} is in use by another mcp-aggregator \\(pid ${process.pid}, since 20.*\\)$`),
  });
  first.release();
  assert.equal(existsSync(join(directory, 'owner.json')), false);
  claimDataDirectory(directory).release();
});

test('a killed owner leaves its data directory free', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'owner-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const source = new URL('../../src/store/data-directory.ts', import.meta.url).href;
  const script = `
    const { claimDataDirectory } = await import(process.argv[1]);
    claimDataDirectory(process.argv[2]);
    gc(); // the claim holds, although nobody kept what it returned
    console.log('claimed');
    setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ['--expose-gc', '--input-type=module', '-e', script, source, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  assert.throws(() => claimDataDirectory(directory), { message: new RegExp(`pid ${child.pid},`) });
  child.kill('SIGKILL');
  await exited;
  claimDataDirectory(directory).release();
});
