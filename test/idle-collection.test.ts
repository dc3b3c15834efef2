import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { nodeFlags } from '../src/cli/own-program.ts';
import { isWorthCollecting } from '../src/idle-collection.ts';
import { startAggregator } from './support/aggregator-process.ts';
import { untilSeen } from './support/until.ts';

test('memory is returned while nothing is called and there is something to return', () => {
  const table: [load: number, unusedMb: number, expected: boolean][] = [
    [0, 40, true],
    [0.02, 16, true],
    [0.021, 40, false],
    [1.5, 40, false],
    [0, 15.9, false],
  ];
  for (const [load, unusedMb, expected] of table)
    assert.equal(isWorthCollecting({ load, unusedBytes: unusedMb * 1_048_576 }), expected, `${load} ${unusedMb}`);
});

test('every way to start the aggregator gives Node the same flags', () => {
  const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
  const listed = (quote: string) => nodeFlags.map((flag) => quote + flag + quote).join(', ');
  assert.ok(read('bin/mcp-aggregator.js').includes(`[${listed("'")}]`), 'bin/mcp-aggregator.js');
  assert.ok(read('deploy/Dockerfile').includes(listed('"')), 'deploy/Dockerfile');
});

test('an idle aggregator returns what its start needed', async (t) => {
  const aggregator = await startAggregator();
  t.after(() => aggregator.stop());
  const heapBytes = async () => {
    const answer = await fetch(`${aggregator.url}/metrics`, {
      headers: { authorization: `Bearer ${aggregator.token}` },
    });
    return Number(/^nodejs_heap_size_total_bytes (\S+)$/m.exec(await answer.text())?.[1]);
  };
  const started = await heapBytes();
  const fits = (bytes: number) => bytes < started - 8_388_608;
  // Asking seldom, because the aggregator is not idle while it answers.
  await untilSeen(heapBytes, fits, 'the heap is smaller', { everyMs: 5_000 });
});
