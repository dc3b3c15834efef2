/** What the catalog decides without a server: what changed, when to ask again, how long a list may be kept. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { mergeHints } from '../../src/catalog/cache-hints.ts';
import { nextPace } from '../../src/catalog/refresh-schedule.ts';
import {
  compareTools,
  differences,
  hasChanges,
  namesOf,
  shortened,
  toDiscovered,
} from '../../src/catalog/tool-diff.ts';
import type { ToolRow } from '../../src/store/schema.ts';

const row = (id: number, definition_hash = 'same') => ({ id, name: `s.t${id}`, definition_hash }) as ToolRow;

suite('compared tools', () => {
  const cases: { what: string; before: ToolRow[]; after: ToolRow[]; names: ReturnType<typeof namesOf> }[] = [
    { what: 'the same', before: [row(1)], after: [row(1)], names: { added: [], changed: [], removed: [] } },
    { what: 'a new one', before: [], after: [row(1)], names: { added: ['s.t1'], changed: [], removed: [] } },
    { what: 'one less', before: [row(1)], after: [], names: { added: [], changed: [], removed: ['s.t1'] } },
    {
      what: 'another definition',
      before: [row(1), row(2)],
      after: [row(1, 'new'), row(2)],
      names: { added: [], changed: ['s.t1'], removed: [] },
    },
    {
      what: 'all of it',
      before: [row(1), row(2), row(3)],
      after: [row(2, 'new'), row(3), row(4)],
      names: { added: ['s.t4'], changed: ['s.t2'], removed: ['s.t1'] },
    },
  ];
  for (const { what, before, after, names } of cases) {
    test(`BR-003: ${what}`, () => {
      const changes = compareTools(before, after);
      assert.deepEqual(namesOf(changes), names);
      assert.equal(hasChanges(changes), Object.values(names).flat().length > 0);
      const { added, changed, unchanged } = changes;
      assert.equal(added.length + changed.length + unchanged.length, after.length);
    });
  }

  test('a definition is compared member by member', () => {
    const before = { name: 'x', description: 'old', annotations: { readOnlyHint: true } };
    const after = { name: 'x', description: 'new', title: 'X' };
    assert.deepEqual(differences(before, after), [
      { member: 'annotations', before: { readOnlyHint: true }, after: null },
      { member: 'description', before: 'old', after: 'new' },
      { member: 'title', before: null, after: 'X' },
    ]);
  });

  test('a summary names at most 20 tools of each sort', () => {
    const names = Array.from({ length: 25 }, (_, at) => `s.t${at}`);
    assert.deepEqual(shortened({ added: names, changed: ['s.x'], removed: [] }), {
      added: [...names.slice(0, 20), '… 5 more'],
      changed: ['s.x'],
    });
  });
});

const titles: { definition: Record<string, unknown>; title: string | null }[] = [
  { definition: {}, title: null },
  { definition: { title: 'Own' }, title: 'Own' },
  { definition: { annotations: { title: 'Annotated' } }, title: 'Annotated' },
  { definition: { title: 'Own', annotations: { title: 'Annotated' } }, title: 'Own' },
  { definition: { title: 7 }, title: null },
];
for (const { definition, title } of titles) {
  test(`the title of ${JSON.stringify(definition)} is ${title}`, () => {
    const tool = toDiscovered('s', 'x', definition);
    assert.equal(tool.title, title);
    assert.equal(tool.name, 's.x');
    assert.deepEqual(tool.input_schema, { type: 'object' });
  });
}

test('a server that says all the time that its lists changed is asked ever less often, until it is calm', () => {
  let pace = nextPace(undefined, 0);
  const waits = [pace.waitMs];
  for (let turn = 0; turn < 12; turn += 1) {
    pace = nextPace(pace, pace.dueAt);
    waits.push(pace.waitMs);
  }
  const fewChanges = [100, 100, 100, 100, 100];
  assert.deepEqual(waits, [...fewChanges, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
  assert.equal(nextPace(pace, pace.dueAt + 10_000).waitMs, 10_000);
  assert.deepEqual(nextPace(pace, pace.dueAt + 10_001), { turns: 1, waitMs: 100, dueAt: pace.dueAt + 10_101 });
});

const hints: { what: string; hints: Parameters<typeof mergeHints>[0]; merged: ReturnType<typeof mergeHints> }[] = [
  { what: 'no server', hints: [], merged: { ttlMs: 0, cacheScope: 'public' } },
  { what: 'one server', hints: [{ expires: 150, public: true }], merged: { ttlMs: 50, cacheScope: 'public' } },
  { what: 'a fraction', hints: [{ expires: 150.7, public: true }], merged: { ttlMs: 50, cacheScope: 'public' } },
  {
    what: 'the shortest counts',
    hints: [
      { expires: 150, public: true },
      { expires: 120, public: true },
    ],
    merged: { ttlMs: 20, cacheScope: 'public' },
  },
  {
    what: 'one private list makes all private',
    hints: [
      { expires: 150, public: true },
      { expires: 150, public: false },
    ],
    merged: { ttlMs: 50, cacheScope: 'private' },
  },
  {
    what: 'a server without a hint',
    hints: [{ expires: 150, public: true }, undefined],
    merged: { ttlMs: 0, cacheScope: 'private' },
  },
  { what: 'an expired hint', hints: [{ expires: 50, public: true }], merged: { ttlMs: 0, cacheScope: 'public' } },
];
for (const { what, hints: given, merged } of hints) {
  test(`how long a list may be kept: ${what}`, () => assert.deepEqual(mergeHints(given, 100), merged));
}
