import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('./abandoned-sessions.ts', import.meta.url));
const allowedBytes = 8 * 1_048_576;

test('ten thousand sessions that were opened and abandoned leave memory where it was', async (t) => {
  const child = spawn(process.execPath, ['--expose-gc', '--disable-warning=ExperimentalWarning', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill());
  const { sessions, grownBytes } = JSON.parse(await text(child.stdout));
  t.diagnostic(`${sessions} sessions: ${(grownBytes / 1_048_576).toFixed(1)} MB`);
  assert.equal(sessions, 10_000);
  assert.ok(grownBytes < allowedBytes, `${grownBytes} bytes more than before`);
});
