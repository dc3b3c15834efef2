import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { nextTurn } from '../../src/time-slice.ts';
import { readLines } from '../../src/upstream/lines.ts';
import { createMessageBudget } from '../../src/upstream/message-budget.ts';

const limit = 4_000_000;
const holdOf = (maxMessageBytes: number) =>
  createMessageBudget({ maxMessageBytes, maxMessagesBytes: maxMessageBytes }).open();
const block = (ms: number): void => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

test('lines come in order, short and long ones, however they are cut into chunks', { timeout: 20_000 }, async () => {
  const stream = new PassThrough();
  const lines: string[] = [];
  let overflows = 0;
  const onOverflow = () => {
    overflows += 1;
  };
  const done = Promise.withResolvers<void>();
  const onLine = (line: Buffer) => {
    lines.push(line.toString());
    if (line.toString() === 'after') done.resolve();
    return true;
  };
  const large: string[] = [];
  const onLargeLine = async (parts: readonly Buffer[]) => {
    onLine(Buffer.concat(parts));
    large.push(lines.at(-1)?.[0] ?? '');
    await nextTurn();
  };
  readLines(stream, { hold: holdOf(limit), onLine, onLargeLine, onOverflow });
  const expected = ['first', 'x'.repeat(1_000_000), 'between', 'é'.repeat(700_000), '', 'last'];
  const bytes = Buffer.from(`${expected.join('\r\n')}\n${'y'.repeat(limit + 1)}\nafter\n`);
  for (let at = 0; at < bytes.length; at += 65_521) stream.write(bytes.subarray(at, at + 65_521));
  stream.end();
  await done.promise;
  assert.deepEqual(
    lines.map((line) => line.replace('\r', '')),
    [...expected, 'after'],
  );
  assert.deepEqual(large, ['x', 'é']);
  assert.equal(overflows, 1);
});

test('other work has a turn between the lines of one chunk', { timeout: 20_000 }, async () => {
  const stream = new PassThrough();
  const order: string[] = [];
  const done = Promise.withResolvers<void>();
  readLines(stream, {
    hold: holdOf(limit),
    onOverflow: () => undefined,
    onLargeLine: async () => undefined,
    onLine: (line) => {
      order.push(line.toString());
      block(10);
      if (line.toString() === '6') done.resolve();
      return true;
    },
  });
  setImmediate(() => setImmediate(() => order.push('other work')));
  stream.end('1\n2\n3\n4\n5\n6\n');
  await done.promise;
  assert.equal(order.length, 7);
  assert.notEqual(order.at(-1), 'other work');
});

test('when the reading is ended, nothing more is read, not even of the same chunk', { timeout: 20_000 }, async () => {
  const stream = new PassThrough();
  const lines: string[] = [];
  const end = readLines(stream, {
    hold: holdOf(limit),
    onOverflow: () => undefined,
    onLargeLine: async () => undefined,
    onLine: (line) => {
      lines.push(line.toString());
      if (line.toString() === '2') end();
      return true;
    },
  });
  stream.write('1\n2\n3\n4\n');
  await once(stream, 'close');
  assert.deepEqual(lines, ['1', '2']);
});
