import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { documentFile, toDocument } from './compatibility.ts';
import { runCompatibility } from './compatibility-matrix.ts';

test('MCP-001: every client revision works with every kind of server, and docs/compatibility.md says so', async () => {
  const cells = await runCompatibility();
  const problems = cells.flatMap(({ client, server, problems }) =>
    Object.entries(problems).map(([feature, problem]) => `${client} client, ${server} server, ${feature}: ${problem}`),
  );
  assert.deepEqual(problems, []);
  assert.equal(readFileSync(documentFile, 'utf8'), toDocument(cells), 'run npm run compatibility');
});
