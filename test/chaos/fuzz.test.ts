import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runFuzz } from '../../scripts/fuzz/run.ts';

test('nearly right messages of every kind: each is answered, none with a 500 (a part of `npm run fuzz`)', {
  timeout: 170_000,
}, async () => {
  const { messages, answers, faults } = await runFuzz({ messages: 4_000, seed: 7 });
  assert.deepEqual(faults, []);
  assert.equal(messages, 4_000);
  for (const kind of ['REST 200', 'MCP, legacy 200', 'MCP, modern 200', 'import 200', 'backup 200'])
    assert.ok((answers.get(kind) ?? 0) > 10, `${kind} in ${JSON.stringify([...answers])}`);
});
