import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createConversation, createFloodGuard } from '../../src/upstream/session.ts';

const perSecond = 20_000;

test('as many messages as anybody could want in a second are no flood, one more is, and then it begins anew', (t) => {
  let now = 5_000;
  t.mock.method(performance, 'now', () => now);
  const isFlooding = createFloodGuard();
  for (let message = 0; message < perSecond; message += 1) assert.equal(isFlooding(), false);
  assert.equal(isFlooding(), true);
  now += 1_000;
  assert.equal(isFlooding(), false);
});

for (const [what, message] of [
  ['notifications', { jsonrpc: '2.0', method: 'notifications/message', params: {} }],
  ['questions', { jsonrpc: '2.0', id: 1, method: 'roots/list' }],
  ['answers to nothing', { jsonrpc: '2.0', id: 99, result: {} }],
] as const) {
  test(`a channel that pours ${what} is closed`, (t) => {
    t.mock.method(performance, 'now', () => 5_000);
    let pour = () => {};
    const closed: number[] = [];
    const lost: string[] = [];
    createConversation(
      ({ onMessage }) => {
        pour = () => onMessage(message);
        return { send() {}, close: async () => void closed.push(1) };
      },
      {
        onNotification() {},
        onRequest: async () => ({ roots: [] }),
        onClose: (error) => lost.push(error.message),
      },
    );
    for (let count = 0; count < perSecond; count += 1) pour();
    assert.deepEqual([closed, lost], [[], []]);
    pour();
    pour();
    assert.deepEqual([closed, lost], [[1], ['the server sent more than 20000 unasked messages in a second']]);
  });
}
