/**
 * Loaded before every test file: one whose tests are over but which something keeps alive fails and says what it is,
 * instead of keeping the run waiting for ever.
 */
import { afterEach, beforeEach } from 'node:test';

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
