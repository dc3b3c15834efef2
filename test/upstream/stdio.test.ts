/** A child's output, however it is cut, and its end, however it comes. */
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import type { RpcMessage } from '../../src/json-rpc.ts';
import { toObject } from '../../src/raw-result.ts';
import { createMessageBudget } from '../../src/upstream/message-budget.ts';
import { createOrphanReaper } from '../../src/upstream/orphan-reaper.ts';
import { type Child, startChild } from '../../src/upstream/stdio.ts';
import { createStrays } from '../../src/upstream/strays.ts';
import { isAlive, untilGone } from '../support/processes.ts';
import { until } from '../support/until.ts';

const orphanReaper = createOrphanReaper(createStrays(tmpdir()));

function start(script: string, { maxMessageBytes = 1_000_000 } = {}) {
  const messages: RpcMessage[] = [];
  const lines: string[] = [];
  const ended = Promise.withResolvers<Error & { executed: string }>();
  const child: Child = startChild(
    {
      command: process.execPath,
      args: ['-e', script],
      env: { PATH: process.env.PATH },
      messageBudget: createMessageBudget({ maxMessageBytes, maxMessagesBytes: maxMessageBytes }),
      orphanReaper,
      onLine: (line) => lines.push(line),
    },
    { onMessage: (message) => messages.push(message), onClose: ended.resolve },
  );
  return { child, messages, lines, ended: ended.promise };
}

test('messages arrive whole, whether they come in pieces, together or with carriage returns', async () => {
  const message = (id: number, text: string) => JSON.stringify({ jsonrpc: '2.0', id, result: { text } });
  const bytes = Buffer.from(`${message(1, 'ä🙂')}\n${message(2, 'b')}\r\n\n[${message(3, 'c')},${message(4, 'd')}]\n`);
  const { messages, lines, ended } = start(`
    const bytes = Buffer.from(${JSON.stringify(bytes.toString('base64'))}, 'base64');
    (async () => { for (const byte of bytes) { process.stdout.write(Buffer.of(byte)); await new Promise(setImmediate); } })();
  `);
  await ended;
  assert.deepEqual(
    messages.map((one) => ('result' in one ? toObject(one.result).text : undefined)),
    ['ä🙂', 'b', 'c', 'd'],
  );
  assert.deepEqual(lines, []);
});

test('what is no message is kept as output, marked with where it came from', async () => {
  const { messages, lines, ended } = start(`
    console.log('hello'); console.log('{"jsonrpc": "2.0"'); console.log('{}'); console.log('[1]'); console.error('oops');
  `);
  const error = await ended;
  assert.deepEqual(messages, []);
  assert.deepEqual(lines.toSorted(), [
    'oops',
    'stdout: [1]',
    'stdout: hello',
    'stdout: {"jsonrpc": "2.0"',
    'stdout: {}',
  ]);
  assert.equal(error.message, "the server's process exited with code 0 before it answered");
});

test('a message without an end is cut off', async () => {
  const { ended, child } = start(
    `const pour = () => { while (process.stdout.write('x'.repeat(65536))); process.stdout.once('drain', pour) }; pour()`,
  );
  const error = await ended;
  assert.match(error.message, /a message of more than 1000000 bytes/);
  await child.close();
  await untilGone(child.pid ?? 0);
});

test('a child that reads nothing any more refuses what is sent, and says that it was not executed', async () => {
  const { child, ended } = start('process.exit(4)');
  await ended;
  await assert.rejects(
    async () => await child.send({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    (error: Error & { executed?: string }) => error.executed === 'no',
  );
});

test('closing ends a child that ignores its input and SIGTERM, and what it started', async () => {
  const { child, lines } = start(`
    process.on('SIGTERM', () => {});
    const { pid } = require('node:child_process').spawn('sleep', ['1000'], { stdio: 'ignore' });
    console.error(pid);
    setInterval(() => {}, 1e6);
  `);
  await until(() => lines.length > 0, 'the child has printed a line');
  const grandchild = Number(lines[0]);
  assert.ok(isAlive(grandchild));
  await Promise.all([child.close(), child.close()]);
  await untilGone(child.pid ?? 0);
  await untilGone(grandchild);
});

test('an answer that is none is an error for whoever waits for it, at once', async () => {
  const { messages, lines, ended } = start(`
    for (const answer of ['"result":null', '"result":[1]', '"result":"x"', '"error":null', '"error":{"code":"a"}'])
      console.log('{"jsonrpc":"2.0","id":1,' + answer + '}');
  `);
  await ended;
  const text = (problem: string) => `Invalid response from the server: ${problem}`;
  const [noObject, noError] = [text('result must be an object'), text('error needs an integer code and a message')];
  assert.deepEqual(
    messages.map((one) => ('error' in one ? one.error.message : undefined)),
    [noObject, noObject, noObject, noError, noError],
  );
  assert.deepEqual(lines, []);
});
