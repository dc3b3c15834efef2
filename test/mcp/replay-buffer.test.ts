import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { createReplayBuffer } from '../../src/mcp/replay-buffer.ts';

const textsSince = (memory: ReturnType<typeof createReplayBuffer>, id: string) =>
  memory.since(id).events.map(({ text }) => text);

test('a stream is told what it said after an event, and nothing of other streams', () => {
  const memory = createReplayBuffer();
  const first = memory.record(1, 'a');
  memory.record(2, 'b');
  memory.record(1, 'c');
  const last = memory.record(1, 'd');
  assert.deepEqual(memory.since(first), {
    stream: 1,
    requestId: undefined,
    events: [
      { id: '1-3', text: 'c' },
      { id: last, text: 'd' },
    ],
  });
  assert.deepEqual(textsSince(memory, '1-0'), ['a', 'c', 'd'], 'from the beginning');
  assert.deepEqual(textsSince(memory, last), []);
  for (const unknown of ['', '7-1', 'x', '1-x', '-', '1-999']) assert.deepEqual(textsSince(memory, unknown), []);
});

test('the ids of events say which request their stream answers, whatever remembers them', () => {
  const memory = createReplayBuffer();
  memory.name(1, 'a-b "c"');
  memory.name(2, 7);
  const [text, number] = [memory.record(1, 'x'), memory.eventId(2, 0)];
  assert.equal(createReplayBuffer().since(text).requestId, 'a-b "c"');
  assert.equal(createReplayBuffer().since(number).requestId, 7);
  assert.match(`${text}${number}`, /^[\w-]+$/, 'they fit into a header');
  memory.name(3, 'x'.repeat(1_000));
  assert.equal(memory.eventId(3, 0), '3-0');
  assert.equal(memory.since('3-0-zz').requestId, undefined);
});

test('the newest 500 events, and a million characters of them, are kept', () => {
  const many = createReplayBuffer();
  for (let n = 1; n <= 600; n += 1) many.record(1, String(n));
  assert.deepEqual([textsSince(many, '1-0').length, textsSince(many, '1-0')[0]], [500, '101']);
  const long = createReplayBuffer();
  for (let n = 1; n <= 5; n += 1) long.record(1, 'x'.repeat(300_000));
  assert.equal(textsSince(long, '1-0').length, 3);
});

test('one that is longer than that is kept for a minute', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const memory = createReplayBuffer();
  memory.record(1, 'before');
  memory.record(1, 'x'.repeat(2_000_000));
  assert.equal(textsSince(memory, '1-0').length, 1, 'it takes all the room');
  mock.timers.tick(59_999);
  assert.equal(textsSince(memory, '1-0').length, 1);
  mock.timers.tick(1);
  assert.deepEqual(textsSince(memory, '1-0'), []);
  memory.record(1, 'after');
  assert.deepEqual(textsSince(memory, '1-0'), ['after']);
});
