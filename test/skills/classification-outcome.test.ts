/** What classifying a tool changes in its row. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toClassification } from '../../src/skills/classification.ts';
import { type Outcome, sortOutcomes, toClassifiedRows, toOutcome } from '../../src/skills/classification-outcome.ts';
import type { ToolRow } from '../../src/store/schema.ts';

const row = (id: number, more: Partial<ToolRow> = {}) =>
  ({
    id,
    name: 'a.x',
    original_name: 'x',
    description: null,
    skill_ids: ['old'],
    input_schema: {},
    ...more,
  }) as ToolRow;

const fits: Outcome = { skill_ids: ['mail'], primary_skill_id: 'mail', skill_confidences: { mail: 0.9 } };

const cases: { what: string; outcome: Outcome; state: string; skills: string[]; stored: string }[] = [
  { what: 'skills fit', outcome: fits, state: 'CLASSIFIED', skills: ['mail'], stored: 'fitting' },
  {
    what: 'SKL-001: no skill fits',
    outcome: toOutcome(toClassification([])),
    state: 'CLASSIFIED',
    skills: [],
    stored: 'unfit',
  },
  { what: 'not classified yet', outcome: null, state: 'UNCLASSIFIED', skills: ['old'], stored: 'notYet' },
];

for (const { what, outcome, state, skills, stored } of cases) {
  test(`BR-004, EC-009: ${what}: the tool is ${state}`, () => {
    const outcomes = new Map([[1, outcome]]);
    const [changed, ...others] = toClassifiedRows([row(1), row(2)], outcomes);
    assert.deepEqual(others, []);
    assert.equal(changed?.id, 1);
    assert.equal(changed?.classification_state, state);
    assert.equal(changed?.is_classified, state === 'CLASSIFIED');
    assert.deepEqual(changed?.skill_ids, skills);
    const sorted = sortOutcomes(outcomes);
    assert.deepEqual(
      Object.entries(sorted).flatMap(([list, entries]) => (entries.length > 0 ? [list] : [])),
      [stored],
    );
  });
}

test('an outcome keeps the confidence of every skill', () => {
  const assignments = [
    { skillId: 'mail', confidence: 0.9 },
    { skillId: 'files', confidence: 0.6 },
  ];
  assert.deepEqual(toOutcome({ skillIds: ['mail', 'files'], primarySkillId: 'mail', assignments }), {
    skill_ids: ['mail', 'files'],
    primary_skill_id: 'mail',
    skill_confidences: { mail: 0.9, files: 0.6 },
  });
});
