/** Our upstream side, OAuth included, against the official client suite. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { formatClientSuite, runClientSuite, scenariosOf } from './client-suite.ts';

const requiredScenarios = { '2025-11-25': 18, '2026-07-28': 32 } as const;

suite('client conformance', { timeout: 600_000 }, () => {
  for (const revision of ['2025-11-25', '2026-07-28'] as const) {
    test(`every required scenario of ${revision} passes`, { timeout: 600_000 }, async (context) => {
      const required = scenariosOf(revision).filter((scenario) => scenario.required);
      assert.equal(required.length, requiredScenarios[revision]);
      const results = await runClientSuite(revision, required);
      context.diagnostic(formatClientSuite(results));
      const failed = results.filter(({ failed, passed }) => failed > 0 || passed === 0);
      assert.deepEqual(failed, []);
    });
  }
});
