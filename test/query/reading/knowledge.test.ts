import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createKnowledge,
  type KnownListing,
  recordFailure,
  recordSuccess,
  type ServerKnowledge,
} from '../../../src/query/reading/knowledge.ts';
import { toolStep } from '../../../src/query/reading/step.ts';
import { createStepQueue } from '../../../src/query/reading/step-queue.ts';
import { listed, operationOf } from './inputs.ts';

const minute = 60_000;

function listing(tool: string, value: unknown, more: Partial<KnownListing> = {}): KnownListing {
  const entries = listed(value);
  return { tool, arguments: {}, noun: '', scope: {}, context: '', isAll: true, at: 0, entries, ...more };
}

const toolsOf = (knowledge: ServerKnowledge, now = 0): string[] => knowledge.listings(now).map(({ tool }) => tool);

test('what one principal learned of a server is not known to another, nor of another server', () => {
  const knowledge = createKnowledge();
  knowledge.of('ada', 'docs').addListing(listing('list_files', 'a.md\nb.md'));
  knowledge.of('ada', 'docs').tool('search').spelling = 1;
  assert.deepEqual(toolsOf(knowledge.of('ada', 'docs')), ['list_files']);
  assert.deepEqual(toolsOf(knowledge.of('grace', 'docs')), []);
  assert.equal(knowledge.of('grace', 'docs').tool('search').spelling, 0);
  assert.deepEqual(toolsOf(knowledge.of('ada', 'wiki')), []);
});

test('a server whose tools changed is forgotten for everybody, others are not', () => {
  const knowledge = createKnowledge();
  for (const principal of ['ada', 'grace'])
    for (const server of ['docs', 'docs-old'])
      knowledge.of(principal, server).addListing(listing('list_files', 'a.md\nb.md'));
  knowledge.forget('docs');
  assert.deepEqual(toolsOf(knowledge.of('ada', 'docs')), []);
  assert.deepEqual(toolsOf(knowledge.of('grace', 'docs')), []);
  assert.deepEqual(toolsOf(knowledge.of('ada', 'docs-old')), ['list_files']);
});

test('listings and tables are stale after five minutes', () => {
  const known = createKnowledge().of('ada', 'docs');
  known.addListing(listing('list_files', 'a.md\nb.md', { at: 0 }));
  known.setTables([{ name: 'orders', columns: [] }], 0);
  assert.deepEqual([toolsOf(known, 5 * minute), known.tables(5 * minute)?.length], [['list_files'], 1]);
  assert.deepEqual([toolsOf(known, 5 * minute + 1), known.tables(5 * minute + 1)], [[], undefined]);
});

test('handles are kept, contents never', () => {
  const known = createKnowledge().of('ada', 'mail');
  const body = 'The roof of the shed was repaired on Monday, and the bill is in the drawer of the desk.';
  known.addListing(listing('list_messages', [{ id: 1, body }]));
  known.addListing(listing('list_pages', [{ id: 2, title: 'x'.repeat(450) }]));
  assert.deepEqual(toolsOf(known), []);
  const long = 'y'.repeat(300);
  known.addListing(listing('list_notes', [{ id: 3, note: long }, ...Array.from({ length: 9 }, (_, id) => ({ id }))]));
  assert.deepEqual(toolsOf(known), ['list_notes']);
  assert.ok(!JSON.stringify(known.listings(0)).includes(long), 'a long value of one entry is left out');
});

test('the same list again replaces what was known; one that tells contents now removes it', () => {
  const known = createKnowledge().of('ada', 'docs');
  known.addListing(listing('list_files', 'a.md\nb.md'));
  known.addListing(listing('list_files', 'c.md'));
  assert.deepEqual(
    known.listings(0).flatMap(({ entries }) => entries.map(({ label }) => label)),
    ['c.md'],
  );
  known.addListing(
    listing('list_files', [{ text: 'The roof of the shed was repaired on Monday, and it was dear to us all.' }]),
  );
  assert.deepEqual(known.listings(0), []);
});

test('bounded: listings, handles, tools and servers', () => {
  const knowledge = createKnowledge();
  const known = knowledge.of('ada', 'docs');
  for (let i = 0; i < 100; i++) known.addListing(listing(`list_${i}`, 'a.md\nb.md'));
  assert.equal(known.listings(0).length, 40);
  assert.equal(known.listings(0).at(-1)?.tool, 'list_99', 'the newest stay');
  const thousand = Array.from({ length: 1_500 }, (_, i) => `file-${i}.md`).join('\n');
  for (let i = 0; i < 5; i++) known.addListing(listing(`large_${i}`, thousand));
  assert.ok(known.listings(0).reduce((sum, { entries }) => sum + entries.length, 0) <= 4_000);
  for (let i = 0; i < 1_000; i++) known.tool(`tool ${i}`).spelling = 1;
  const kept = Array.from({ length: 1_000 }, (_, i) => known.tool(`tool ${i}`).spelling).filter(
    (spelling) => spelling === 1,
  );
  assert.ok(kept.length <= 300);
  for (let i = 0; i < 600; i++) knowledge.of('ada', `server ${i}`);
  assert.deepEqual(toolsOf(knowledge.of('ada', 'docs')), [], 'used longest ago');
});

test('three failures pause a tool for a minute, each further one for twice as long, at most half an hour', () => {
  const record = createKnowledge().of('ada', 'docs').tool('search');
  recordFailure(record, 0);
  recordFailure(record, 0);
  assert.equal(record.restsUntil, 0);
  recordFailure(record, 0);
  assert.equal(record.restsUntil, minute);
  recordFailure(record, minute);
  assert.equal(record.restsUntil, 3 * minute);
  for (let i = 0; i < 20; i++) recordFailure(record, 0);
  assert.equal(record.restsUntil, 30 * minute);
  recordSuccess(record);
  assert.deepEqual([record.restsUntil, record.failures], [0, 0]);
});

test('a paused tool is not asked until its pause is over, and is named', () => {
  const known = createKnowledge().of('ada', 'docs');
  const operation = operationOf('search_notes', { query: { type: 'string' } });
  const step = toolStep(
    operation,
    { arguments: { query: 'roof' }, scope: {}, context: '', isOwn: false },
    { priority: 9 },
  );
  for (let i = 0; i < 3; i++) recordFailure(known.tool('search_notes'), 0);
  const asked = (now: number, isNamed = false) => {
    const queue = createStepQueue(known, () => now, isNamed);
    queue.add([step]);
    return [queue.next(0)?.key, queue.resting];
  };
  assert.deepEqual(asked(1), [undefined, ['search_notes']]);
  assert.deepEqual(asked(minute), [step.key, []]);
  assert.deepEqual(asked(1, true), [step.key, []], 'who names the server insists');
});

test('how one tool read what another listed is known for the pair alone', () => {
  const known = createKnowledge().of('ada', 'docs');
  for (let i = 0; i < 3; i++) recordFailure(known.pair('list_boards', 'get_note'), 0);
  assert.equal(known.pair('list_boards', 'get_note').restsUntil, minute);
  assert.deepEqual([known.pair('list_notes', 'get_note').restsUntil, known.tool('get_note').restsUntil], [0, 0]);
});
