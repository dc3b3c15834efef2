import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCanaries } from './canaries.ts';

test('SEC-003: a secret in any field of a configuration appears nowhere, however its server prints it', async (t) => {
  const { searched } = await runCanaries((close) => t.after(close));
  for (const { where, found } of searched) {
    assert.deepEqual(
      found.map(({ planted, context }) => `${where} shows ${planted}: ${context}`),
      [],
    );
  }
});
