/** Aggregators on storage that fails. Whoever starts something is given its end: `onEnd`. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDailyBackup } from '../../src/store/daily-backup.ts';
import { runCommand } from '../cli/command-line.ts';
import { type AggregatorOptions, type AggregatorProcess, startAggregator } from '../support/aggregator-process.ts';
import type { Body } from '../support/app.ts';

/** A test's context, or the list of a script. */
export interface Ends {
  after(end: () => unknown): void;
}

const canMount = process.platform === 'linux' && process.getuid?.() === 0;
export const mountable: { skip: string | false } = { skip: canMount ? false : 'only root can mount a small disk' };

export function temporaryDirectory(t: Ends): string {
  const directory = mkdtempSync(join(tmpdir(), 'faults-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export function smallDisk(t: Ends): string {
  const directory = mkdtempSync(join(tmpdir(), 'faults-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', directory]);
  t.after(() => {
    execFileSync('umount', ['--lazy', directory]);
    rmSync(directory, { recursive: true, force: true });
  });
  return directory;
}

export async function api({ url, token }: AggregatorProcess, method: string, path: string, body?: unknown) {
  const answer = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(20_000),
  });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Body };
}

export const addToken = (aggregator: AggregatorProcess, name: string) =>
  api(aggregator, 'POST', '/tokens', { name, role: 'caller' });

export const faultLines = (aggregator: AggregatorProcess) =>
  aggregator
    .output()
    .split('\n')
    .filter((line) => line.includes('"place"'));

export async function start(
  t: Ends,
  dataDir: string,
  env?: Record<string, string>,
  more: AggregatorOptions = {},
): Promise<AggregatorProcess> {
  const aggregator = await startAggregator({ ...more, dataDir, env });
  t.after(() => aggregator.stop('SIGKILL'));
  return aggregator;
}

export const serve = (dataDir: string) =>
  runCommand(['serve'], { env: { MCP_AGGREGATOR_DATA_DIR: dataDir, MCP_AGGREGATOR_PORT: '0' } });

export async function backUp(dataDir: string): Promise<void> {
  const failures: Error[] = [];
  const backup = createDailyBackup({
    directory: dataDir,
    keep: 7,
    onBackup: () => {},
    onError: (e) => failures.push(e),
  });
  await backup.makeIfDue();
  await backup.close();
  assert.deepEqual(failures, []);
}

export function fillDisk(file: string): void {
  const chunk = Buffer.alloc(4_096);
  for (let n = 0; n < 4_096; n++) {
    try {
      writeFileSync(file, chunk, { flag: 'a' });
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
      return;
    }
  }
  assert.fail('the disk did not fill');
}
