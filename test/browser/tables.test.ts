/** The order of rows, groups of errors and differences of texts: what the pages decide without a browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differenceOfLines, differenceOfWords } from '../../web/src/difference.ts';
import { groupErrors } from '../../web/src/pages/error-groups.ts';
import { arrange, compareBy } from '../../web/src/parts/row-order.ts';

interface Row {
  key: string;
  calls: number | null;
}

const rows = (text: string): Row[] =>
  text.split(' ').map((part) => {
    const [key = '', calls] = part.split(':');
    return { key, calls: calls === undefined ? null : Number(calls) };
  });
const keysOf = (all: readonly Row[]) => all.map(({ key }) => key).join('');
const byCalls = compareBy(({ calls }: Row) => calls, true);

test('rows are sorted by their values; those without a value come last in both directions', () => {
  const all = rows('a:1 b c:3 d:2');
  assert.equal(keysOf([...all].sort(byCalls)), 'cdab');
  assert.equal(keysOf([...all].sort(compareBy(({ calls }: Row) => calls, false))), 'adcb');
});

test('while the table is held, known rows keep their places, gone rows leave, and new ones follow or wait', () => {
  const start = { by: 'calls', before: undefined, held: true, newRows: 'append' } as const;
  const first = arrange(rows('a:1 b:2'), ({ key }) => key, byCalls, start);
  assert.equal(keysOf(first.rows), 'ba');
  const held = { by: 'calls', before: first.order, held: true } as const;
  const changed = rows('a:9 b:2 c:5');
  const appended = arrange(changed, ({ key }) => key, byCalls, { ...held, newRows: 'append' });
  assert.equal(keysOf(appended.rows), 'bac');
  const waiting = arrange(rows('c:5 a:9 b:2 d:1'), ({ key }) => key, byCalls, { ...held, newRows: 'wait' });
  assert.deepEqual([keysOf(waiting.rows), waiting.waiting], ['bad', 1], 'what follows the known rows moves nothing');
  assert.equal(keysOf(arrange(rows('a:9'), ({ key }) => key, byCalls, { ...held, newRows: 'wait' }).rows), 'a');
  const free = { by: 'calls', before: first.order, held: false, newRows: 'wait' } as const;
  assert.equal(keysOf(arrange(changed, ({ key }) => key, byCalls, free).rows), 'acb');
  const other = { ...held, by: 'name', newRows: 'wait' } as const;
  assert.equal(keysOf(arrange(changed, ({ key }) => key, undefined, other).rows), 'abc');
});

test('a difference names what was removed and what was added, and large texts take no longer', () => {
  const marked = (pieces: { sign: string; text: string }[]) => pieces.map(({ sign, text }) => sign + text).join('|');
  assert.equal(marked(differenceOfLines('one\ntwo\nthree', 'one\n2\nthree')), ' one|-two|+2| three');
  assert.equal(marked(differenceOfWords('adds numbers', 'adds many numbers')), ' adds|  |+many|+ | numbers');
  assert.equal(marked(differenceOfWords('', 'new')), '+new');
  const [long, other] = ['x', 'y'].map((letter) =>
    Array.from({ length: 20_000 }, (_, at) => `${letter}${at}`).join('\n'),
  );
  assert.equal(differenceOfLines(long ?? '', other ?? '').length, 40_000);
});

test('errors are one group per tool, outcome and code, the most frequent first', () => {
  const call = (tool: string, outcome: string, client: string | null) => ({
    ...{ call_id: `${tool} ${outcome} ${client}`, server: 'sums', tool, outcome, client, principal: 'ada' },
    ...{ error_code: null, at: '2026-01-01' },
  });
  const groups = groupErrors([
    call('sums.add', 'timeout', null),
    call('sums.broken', 'tool_error', 'an editor'),
    call('sums.broken', 'tool_error', null),
    call('sums.add', 'ok', null),
    call('sums.add', 'cancelled', null),
  ]);
  assert.deepEqual(
    groups.map(({ tool, calls, clients }) => [tool, calls, clients]),
    [
      ['sums.broken', 2, ['an editor · ada', 'REST API · ada']],
      ['sums.add', 1, ['REST API · ada']],
    ],
  );
});
