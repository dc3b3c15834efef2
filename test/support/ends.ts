/**
 * Loaded before every test file. Sources are compiled once, not in each of the many processes that tests start. A file
 * whose tests are over but which something keeps alive fails and says what it is, instead of keeping the run waiting for
 * ever.
 */
import { enableCompileCache } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'node:test';

process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache');
enableCompileCache(process.env.NODE_COMPILE_CACHE);

const patienceMs = 120_000;
let running = 0;
let timer = setTimeout(giveUp, patienceMs).unref();

beforeEach(() => {
  running += 1;
  clearTimeout(timer);
});

afterEach(() => {
  running -= 1;
  if (running === 0) timer = setTimeout(giveUp, patienceMs).unref();
});

function giveUp(): void {
  const held = process.getActiveResourcesInfo().join(', ');
  console.error(`No test has run for ${patienceMs / 1_000} s and the process is kept alive by: ${held}`);
  process.exit(1);
}
