import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runForOutput } from '../../src/security/command-output.ts';
import { until } from '../support/until.ts';

const environment = { PATH: process.env.PATH };
const node = (script: string): [string, ...string[]] => [process.execPath, '-e', script];

test('the output of a command, without the line break at its end', async () => {
  assert.equal(await runForOutput(node('console.log("a\\nb")'), { environment }), 'a\nb');
  assert.equal(await runForOutput(node('process.stdin.pipe(process.stdout)'), { environment, input: 'in' }), 'in');
});

test('a command that prints without end is ended, and nothing that it printed is shown', async () => {
  const endless = node(
    'const more = () => { while (process.stdout.write("secret".repeat(10_000))); }; process.stdout.on("drain", more); more()',
  );
  await assert.rejects(runForOutput(endless, { environment }), /printed more than 65536 characters$/);
  await assert.rejects(
    runForOutput(node('console.log("secret"); process.exit(3)'), { environment }),
    /failed with code 3$/,
  );
});

test('a command that hands its output on to another process and ends does not hold up anything', {
  skip: process.platform === 'win32',
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'command-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'pid');
  const leaving = node(
    `const { pid } = require('node:child_process').spawn('sleep', ['600'], { stdio: 'inherit' });
    require('node:fs').writeFileSync(${JSON.stringify(file)}, String(pid)); process.exit(0)`,
  );
  await assert.rejects(runForOutput(leaving, { environment, timeoutMs: 1_000 }), /did not end within 1 s/);
  const pid = Number(readFileSync(file, 'utf8'));
  await until(() => !isAlive(pid));
});

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
