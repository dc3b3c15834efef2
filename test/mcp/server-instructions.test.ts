import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinInstructions } from '../../src/mcp/server-instructions.ts';

const server = (name: string, instructions: string | null) => ({ name, instructions });

test('the instructions of servers that have some are joined under their names', () => {
  const joined = joinInstructions([server('a', 'Use a first.'), server('b', null), server('c', ' '), server('d', 'D')]);
  assert.deepEqual(joined, ['## a\nUse a first.', '## d\nD']);
});

test('what short ones leave of the budget is for long ones, which are cut after a word', () => {
  const words = 'word '.repeat(100);
  const [short, first, second] = joinInstructions([server('s', 'Short.'), server('x', words), server('y', words)], 206);
  assert.equal(short, '## s\nShort.');
  for (const long of [first, second]) {
    assert.match(long ?? '', /word…$/);
    assert.ok((long?.length ?? 0) > 90 && (long?.length ?? 0) < 110, `${long?.length}`);
  }
});
