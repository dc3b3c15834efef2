/** The events of a stream, and its end. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { createTimeShare } from '../../src/time-slice.ts';
import { createMessageBudget } from '../../src/upstream/message-budget.ts';
import { readEvents } from '../../src/upstream/wire.ts';
import { until } from '../support/until.ts';

const stream = () => {
  const body = new Readable({ read: () => undefined });
  body.push('data: 1\n\ndata: 2\n\ndata: 3\n\n');
  body.push(null);
  return body;
};
const wire = {
  messageBudget: createMessageBudget({ maxMessageBytes: 1_000_000, maxMessagesBytes: 1_000_000 }),
  timeShare: createTimeShare(),
};

test('MCP-033: events that came with the end of their stream are read, however long the ones before them take', async () => {
  const body = stream();
  const seen: string[] = [];
  await readEvents(body, wire, {
    onEvent({ data }) {
      seen.push(Buffer.concat(data).toString());
      return seen.length === 1 ? until(() => body.destroyed, 'the stream has ended') : false;
    },
  });
  assert.deepEqual(seen, ['1', '2', '3']);
});

test('a reader that has what it waited for gets no more', async () => {
  const body = stream();
  const seen: string[] = [];
  await readEvents(body, wire, {
    onEvent({ data }) {
      seen.push(Buffer.concat(data).toString());
      return false;
    },
    isDone: () => seen.length === 2,
  });
  assert.deepEqual(seen, ['1', '2']);
  assert.equal(body.destroyed, true);
});
