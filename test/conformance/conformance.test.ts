/** The official suite through the aggregator: no scenario may check less than it does directly. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aggregator } from './aggregator.ts';
import { formatMatrix, runMatrix } from './matrix.ts';
import { totals } from './suite.ts';

test('the official conformance suite passes through the aggregator as it does directly', async (t) => {
  const gateway = await aggregator();
  t.after(gateway.close);
  const cells = await runMatrix(gateway.inFrontOf);
  t.diagnostic(formatMatrix(cells));
  const directly = Object.fromEntries(cells.map(({ requirements, direct }) => [requirements, totals(direct)]));
  assert.deepEqual(directly, {
    '2025-11-25': { passed: 84, failed: 0 },
    '2026-07-28': { passed: 196, failed: 0 },
  });
  const worse = cells.flatMap(({ differences }) => differences.filter(({ reason }) => reason === undefined));
  assert.deepEqual(worse, []);
});
