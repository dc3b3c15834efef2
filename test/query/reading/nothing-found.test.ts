import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAnswer } from '../../../src/query/reading/answer.ts';
import { createKnowledge, isConstantAnswer } from '../../../src/query/reading/knowledge.ts';
import { isNothingFound, skeletonOf } from '../../../src/query/reading/nothing-found.ts';
import { jsonAnswer, textAnswer } from './inputs.ts';

const query = 'when was the roof repaired';

test('empty lists and counts of zero are nothing, whatever stands beside them', () => {
  for (const value of [
    [],
    {},
    { results: [] },
    { total: 0, results: [], query, took: 3 },
    { data: { issues: { nodes: [] } } },
    [{ 'COUNT(*)': 0 }],
    [{ total_amount: null }],
    { commits: [], note: 'No commits matched' },
    [[], []],
    [null, ''],
  ])
    assert.equal(isNothingFound(jsonAnswer(value), query), true, JSON.stringify(value));
  assert.equal(isNothingFound(parseAnswer({ content: [] }, 100), query), true);
  assert.equal(isNothingFound(textAnswer(' \n'), query), true);
});

test('phrases in several languages, with the question repeated, with a heading or advice', () => {
  for (const said of [
    'No matches found',
    'No results.',
    'No contacts.',
    '0 results',
    'null',
    `No documents found for "${query}".`,
    `# Search results\n**Query:** "${query}"\n\nNothing was found. Try other words.`,
    'Keine Treffer gefunden.',
    'Aucun résultat trouvé',
    'Error: index not available',
    'Results:',
    'Message 1: not found\n---\nMessage 2: not found\n---\nMessage 3: not found',
  ])
    assert.equal(isNothingFound(textAnswer(said), query), true, said);
});

test('errors that were not marked as such are nothing', () => {
  for (const value of [
    { ok: false, error: 'not_found' },
    { success: false, error: { code: 404, message: 'gone' } },
    { error: 'not found', id: 'T-99' },
    { error: "Todo with ID 'T-99' not found", todo_id: 'T-99' },
    { response_summary: "Returned 0 record(s) of type 'Unknown'." },
  ])
    assert.equal(isNothingFound(jsonAnswer(value), query), true, JSON.stringify(value));
});

test('facts are kept, also negative ones and those about failures', () => {
  for (const said of [
    'There is no lift in the town hall; the ramp is on the north side.',
    'The roof was not repaired before winter. Ada asked three roofers; the cheapest wanted 4,200 euros for the ridge alone.',
    'Ada looked for the spare key. It was not in the cellar. It hangs behind the blue door of the boat house, on a hook to the left of the window.',
  ])
    assert.equal(isNothingFound(textAnswer(said), query), false, said);
  for (const value of [
    [{ name: 'nightly import', error: 'disk full' }],
    { success: false, step: 'lint', branch: 'main' },
    [{ 'COUNT(*)': 3 }],
    [{ item: 'ladder', stock: 0 }],
    { total: 0, answer: 'The shed was sold together with the garden in 1998 to the cricket club.' },
    [0, 1],
  ])
    assert.equal(isNothingFound(jsonAnswer(value), query), false, JSON.stringify(value));
  const link = { content: [{ type: 'resource_link', uri: 'wiki://roof', name: 'roof' }] };
  assert.equal(isNothingFound(parseAnswer(link, 100), query), false);
});

test('the same answer to different questions has the same skeleton, whatever it repeats or counts', () => {
  const blank = (input: string, ms: number) => skeletonOf(textAnswer(`Came up blank on ${input} (${ms} ms)`), input);
  assert.equal(blank('roof', 12), blank('pump house', 7));
  assert.notEqual(blank('roof', 12), skeletonOf(textAnswer('The roof was repaired'), 'roof'));
  assert.equal(skeletonOf(textAnswer('word '.repeat(200)), 'roof'), undefined, 'a long answer says something');
});

test('an answer is constant only when it was given to something else', () => {
  const record = createKnowledge().of('ada', 'docs').tool('search');
  assert.equal(isConstantAnswer(record, 'came up blank', 'roof'), false, 'the first time');
  assert.equal(isConstantAnswer(record, 'came up blank', 'roof'), false, 'the same question');
  assert.equal(isConstantAnswer(record, 'came up blank', 'pump'), true);
  assert.equal(isConstantAnswer(record, undefined, 'pump'), false);
  for (let i = 0; i < 100; i++) isConstantAnswer(record, `answer ${i}`, 'roof');
  assert.ok(record.skeletons.size <= 8);
});
