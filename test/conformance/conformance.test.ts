/** The official suite through the aggregator: no scenario may check less than it does directly. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aggregator } from './aggregator.ts';
import { formatMatrix, runMatrix } from './matrix.ts';

test('the official conformance suite passes through the aggregator as it does directly', async (t) => {
  const gateway = await aggregator();
  t.after(gateway.close);
  const cells = await runMatrix(gateway.inFrontOf);
  t.diagnostic(formatMatrix(cells));
  const worse = cells.flatMap(({ differences }) => differences.filter(({ reason }) => reason === undefined));
  assert.deepEqual(worse, []);
});
