/** The official suite through the aggregator: no scenario may check less than it does directly. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inFrontOf } from './aggregator.ts';
import { formatMatrix, runMatrix, unusedDifferences } from './matrix.ts';
import { totals } from './suite.ts';

test('MCP-001, MCP-003: the official conformance suite passes through the aggregator as it does directly', async (t) => {
  const cells = await runMatrix(inFrontOf);
  t.diagnostic(formatMatrix(cells));
  const directly = Object.fromEntries(
    cells.map(({ requirements, subject, direct }) => [`${subject} ${requirements}`, totals(direct)]),
  );
  assert.deepEqual(directly, {
    'one era 2025-11-25': { passed: 84, failed: 0 },
    'one era 2026-07-28': { passed: 196, failed: 0 },
    'both eras 2025-11-25': { passed: 84, failed: 0 },
    // The handler of the SDK's low-level server does not check `Mcp-Param` headers.
    'both eras 2026-07-28': { passed: 190, failed: 6 },
    // It lacks the tools, prompts and resources of the suite.
    'server-everything 2025-11-25': { passed: 47, failed: 22 },
  });
  const worse = cells.flatMap(({ differences }) => differences.filter(({ reason }) => reason === undefined));
  assert.deepEqual(worse, []);
  assert.deepEqual(unusedDifferences(cells), [], 'every allowed difference is one');
});
