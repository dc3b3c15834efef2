import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject, RpcMessage } from '../../src/json-rpc.ts';
import { createQuestions } from '../../src/upstream/questions.ts';

const question = (id: number, method = 'roots/list') => ({ jsonrpc: '2.0', id, method }) as const;
const never = () => new Promise<JsonObject>(() => undefined);

test('a thousand may be unanswered; what comes then is refused, but for pings', async () => {
  const sent: RpcMessage[] = [];
  const questions = createQuestions((reply) => void sent.push(reply));
  for (let id = 1; id <= 1_000; id += 1) void questions.answer(question(id), never);
  await questions.answer(question(1_001), never);
  await questions.answer(question(1_002, 'ping'), never);
  questions.withdraw(1);
  await questions.answer(question(1_003), async () => ({ roots: [] }));
  assert.deepEqual(sent, [
    { jsonrpc: '2.0', id: 1_001, error: { code: -32_603, message: 'Too many unanswered requests (limit: 1000)' } },
    { jsonrpc: '2.0', id: 1_002, result: {} },
    { jsonrpc: '2.0', id: 1_003, result: { roots: [] } },
  ]);
});

test('one that is withdrawn is heard of and gets no answer, also when all end', async () => {
  const sent: RpcMessage[] = [];
  const questions = createQuestions((reply) => void sent.push(reply));
  const signals: AbortSignal[] = [];
  const whenWithdrawn = (_params: JsonObject, signal: AbortSignal) => {
    signals.push(signal);
    return new Promise<JsonObject>((resolve) => signal.addEventListener('abort', () => resolve({ late: true })));
  };
  const answered = [1, 2, 3].map((id) => questions.answer(question(id), whenWithdrawn));
  questions.withdraw(2);
  questions.withdraw('nobody asked this');
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [false, true, false],
  );
  questions.withdrawAll();
  await Promise.all(answered);
  assert.deepEqual(sent, []);
});

test('a connection that breaks while an answer is sent breaks nothing else', async () => {
  const questions = createQuestions(() => {
    throw new Error('broken pipe');
  });
  await questions.answer(question(1), async () => ({ roots: [] }));
});
