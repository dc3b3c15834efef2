import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextPage, totalOf } from '../../../src/query/reading/paging.ts';
import type { Operation } from '../../../src/query/strategy/strategy.ts';
import { jsonAnswer, operationOf, textAnswer } from './inputs.ts';

const lists = (properties: Record<string, unknown>): Operation =>
  operationOf('list_tickets', properties, { required: [] });
const byCursor = lists({ cursor: { type: 'string' } });
const byPage = lists({ page: { type: 'integer' } });
const byOffset = lists({ offset: { type: 'integer' } });
const tickets = [{ id: 1 }, { id: 2 }];

test('cursors, wherever the answer holds them', () => {
  for (const envelope of [
    { nextCursor: 'c2' },
    { next_cursor: 'c2' },
    { meta: { next_cursor: 'c2' } },
    { pageInfo: { hasNextPage: true, endCursor: 'c2' } },
    { next: 'https://api.test/tickets?limit=2&cursor=c2' },
  ])
    assert.deepEqual(
      nextPage(byCursor, { state: 'open' }, jsonAnswer({ tickets, ...envelope }), 2),
      { state: 'open', cursor: 'c2' },
      JSON.stringify(envelope),
    );
  assert.deepEqual(nextPage(byCursor, {}, textAnswer('T-1 Roof\nT-2 Pump\nNext cursor: c2'), 2), { cursor: 'c2' });
  const token = lists({ page_token: { type: 'string' } });
  assert.deepEqual(nextPage(token, {}, jsonAnswer({ tickets, next_page_token: 't2' }), 2), { page_token: 't2' });
});

test('no cursor, an empty one or the same one again is the end', () => {
  for (const envelope of [{}, { nextCursor: null }, { nextCursor: '' }, { nextCursor: 'c1' }])
    assert.equal(nextPage(byCursor, { cursor: 'c1' }, jsonAnswer({ tickets, ...envelope }), 2), undefined);
  assert.equal(nextPage(byCursor, {}, textAnswer('T-1 Roof\nNext cursor: none'), 1), undefined);
  assert.equal(nextPage(byCursor, {}, textAnswer('T-1 Roof\nUse the cursor to get more.'), 1), undefined);
});

test('page numbers are counted on while the answer says that there is more', () => {
  const next = (args: object, envelope: object) =>
    nextPage(byPage, { ...args }, jsonAnswer({ tickets, ...envelope }), 2);
  assert.deepEqual(next({}, { page: 1, total_pages: 3 }), { page: 2 });
  assert.deepEqual(next({ page: 2 }, { page: 2, total_pages: 3 }), { page: 3 });
  assert.equal(next({ page: 3 }, { page: 3, total_pages: 3 }), undefined);
  assert.deepEqual(next({}, { total: 5 }), { page: 2 });
  assert.equal(next({ page: 3 }, { total: 5 }), undefined);
  assert.deepEqual(next({}, { has_more: true }), { page: 2 });
  assert.equal(next({}, { has_more: false, total: 5 }), undefined);
  assert.equal(next({}, {}), undefined, 'nothing says that there is a second page');
  assert.deepEqual(nextPage(byPage, {}, textAnswer('Page 1 of 4\nT-1 Roof\nT-2 Pump'), 2), { page: 2 });
  const more = textAnswer('T-1 Roof\nT-2 Pump\nThis is page 1 of 3, more results are available.');
  assert.deepEqual(nextPage(byPage, {}, more, 2), { page: 2 }, 'where we are is not where to go');
  assert.equal(nextPage(byPage, { page: 4 }, textAnswer('Page 4 of 4\nT-7 Door'), 1), undefined);
});

test('pages that begin at zero end one earlier', () => {
  const fromZero = lists({ page: { type: 'integer', minimum: 0 } });
  const answer = jsonAnswer({ tickets, page: 0, total_pages: 2 });
  assert.deepEqual(nextPage(fromZero, { page: 0 }, answer, 2), { page: 1 });
  assert.equal(nextPage(fromZero, { page: 1 }, answer, 2), undefined);
});

test('a next link holds the page, also where only text names it', () => {
  const link = jsonAnswer({ tickets, links: { next: 'https://api.test/tickets?page=2' } });
  assert.deepEqual(nextPage(byPage, {}, link, 2), { page: 2 });
  assert.deepEqual(
    nextPage(byPage, {}, textAnswer('T-1 Roof\nT-2 Pump\nThere are more results on the next page.'), 2),
    {
      page: 2,
    },
  );
});

test('offsets go on by what was read, or to where the answer says', () => {
  const next = (args: object, envelope: object, size = 2) =>
    nextPage(byOffset, { ...args }, jsonAnswer({ tickets, ...envelope }), size);
  assert.deepEqual(next({}, { total: 5 }), { offset: 2 });
  assert.deepEqual(next({ offset: 2 }, { total: 5 }), { offset: 4 });
  assert.equal(next({ offset: 4 }, { total: 5 }, 1), undefined);
  assert.equal(next({ offset: 4 }, { total: 50 }, 0), undefined, 'an empty page is the last');
  assert.deepEqual(next({ offset: 2 }, { next_offset: 10 }), { offset: 10 });
  assert.equal(next({ offset: 10 }, { next_offset: 10, total: 50 }), undefined, 'not the same page again');
});

test('advice at the end of a text names the parameter and its value', () => {
  const fetchPage = operationOf(
    'fetch_page',
    { url: { type: 'string' }, start_index: { type: 'integer' } },
    { required: ['url'] },
  );
  const advice = textAnswer(
    `${'word '.repeat(1_000)}\nContent truncated. Call again with a start_index of 5000 to get more.`,
  );
  assert.deepEqual(nextPage(fetchPage, { url: 'http://a.test' }, advice, 0), {
    url: 'http://a.test',
    start_index: 5000,
  });
  assert.equal(nextPage(fetchPage, { url: 'http://a.test', start_index: 5000 }, advice, 0), undefined);
});

test('next_range of an answer is the range of the next call', () => {
  const read = operationOf(
    'read_sheet',
    { file: { type: 'string' }, range: { type: 'string' } },
    { required: ['file'] },
  );
  const answer = jsonAnswer({ rows: [['a', 'b']], next_range: 'A51:F100' });
  assert.deepEqual(nextPage(read, { file: 'x' }, answer, 50), { file: 'x', range: 'A51:F100' });
});

test('without any paging, a full page is asked for again with a larger limit, once', () => {
  const limited = lists({ limit: { type: 'integer', default: 10 } });
  const answer = jsonAnswer({ tickets });
  assert.deepEqual(nextPage(limited, {}, answer, 10), { limit: 100 });
  assert.equal(nextPage(limited, {}, answer, 9), undefined);
  assert.equal(nextPage(limited, { limit: 100 }, answer, 100), undefined);
  assert.equal(nextPage(lists({}), {}, answer, 10), undefined);
});

test('the total of a list is read from JSON and from text', () => {
  assert.equal(totalOf(jsonAnswer({ tickets, totalCount: 37 })), 37);
  assert.equal(totalOf(textAnswer('Showing 2 of 37 tickets\nT-1 Roof')), 37);
  assert.equal(totalOf(jsonAnswer({ tickets })), undefined);
});
