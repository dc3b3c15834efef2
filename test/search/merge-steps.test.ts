import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeSteps } from '../../src/search/merge-steps.ts';

const ranking = (text: string) => [...text].map((tool, place) => ({ tool, score: 1 - place / 10 }));
const merge = (limit: number, ...texts: string[]) =>
  mergeSteps(texts.map(ranking), limit)
    .map(({ found, steps }) => `${found.tool}${steps.join('')}`)
    .join(' ');

test('FIND-001: steps take turns, a tool of several steps is there once, and each step has at least one', () => {
  assert.equal(merge(6, 'abc', 'xyz'), 'a0 x1 b0 y1 c0 z1');
  assert.equal(merge(3, 'abc', 'xyz'), 'a0 x1 b0');
  assert.equal(merge(1, 'abc', 'xyz', 'mno'), 'a0 x1 m2');
  assert.equal(merge(4, 'abc', 'axy'), 'a01 b0 x1 c0');
  assert.equal(merge(5, 'abcde', '', 'x'), 'a0 x2 b0 c0 d0');
  assert.equal(merge(3, 'abc', 'xac'), 'a01 x1 b0', 'shown for one step, it is named for the other');
  assert.equal(merge(2, 'ab', 'xya'), 'a0 x1', 'but not where that one would not have been shown it');
  assert.equal(merge(3, '', ''), '');
});

test('FIND-001: a tool keeps the best of its scores', () => {
  const [first] = mergeSteps([[{ tool: 'a', score: 0.4 }], [{ tool: 'a', score: 0.9 }]], 5);
  assert.equal(first?.found.score, 0.9);
});
