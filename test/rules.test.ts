import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

/** Every rule of the logic contract. */
const rules = {
  'BR-001': 'Server Registration',
  'BR-002': 'Server Connection',
  'BR-003': 'Tool Discovery',
  'BR-004': 'Skill Classification for External Tools',
  'BR-005': 'Request Routing',
  'BR-006': 'Health Monitoring',
  'BR-007': 'Server Disconnection',
  'BR-008': 'Server Removal',
  'BR-009': 'Tool Name Collision Prevention',
  'EC-001': 'Connection During Maintenance',
  'EC-002': 'Tool Name Contains Dot',
  'EC-003': 'Server Disconnects During Tool Execution',
  'EC-004': 'Duplicate Tool Registration',
  'EC-005': 'Health Check URL Returns Non-200',
  'EC-006': 'Large Tool Discovery',
  'EC-007': 'Concurrent Tool Executions to Same Server',
  'EC-008': 'Server Renamed',
  'EC-009': 'Classification Service Unavailable',
  'EC-010': 'Session Stale After Network Glitch',
};

const cited = new Set(testFiles(import.meta.dirname).flatMap(rulesCitedBy));

for (const [id, title] of Object.entries(rules)) {
  test(`a test cites ${id}, ${title}`, () => {
    assert.ok(cited.has(id), `no test has ${id} in its name`);
  });
}

test('no test cites a rule that does not exist', () => {
  assert.deepEqual(
    [...cited].filter((id) => !(id in rules)),
    [],
  );
});

function testFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(directory, name));
}

/** The ids in the names of a file's tests: `test('BR-001: …'`. */
function rulesCitedBy(file: string): string[] {
  const names = readFileSync(file, 'utf8').matchAll(/\b(?:test|it|suite|describe)\(\s*(['"`])((?:(?!\1).)*)\1/g);
  return [...names].flatMap(([, , name = '']) => name.match(/\b(?:BR|EC)-\d{3}\b/g) ?? []);
}
