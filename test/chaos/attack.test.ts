import assert from 'node:assert/strict';
import { test } from 'node:test';
import { behaviours, runAttack } from '../../scripts/attack/run.ts';

/** One of each sort: the whole zoo is `npm run attack`. */
const manners = [
  ...['silence', 'exits with 1', 'a line without end', 'nested 100,000 deep', 'text that is hard to read'],
  ...['questions without end', 'an event without end', 'redirects to itself', 'a small page that unpacks to 1 GB'],
];

test('bad servers beside a good one: none of its calls fails (a part of `npm run attack`)', {
  timeout: 170_000,
}, async () => {
  const chosen = behaviours.filter(({ moment, manner }) => moment === 'tools/call' && manners.includes(manner));
  const { outcomes } = await runAttack({ behaviours: chosen, secondsEach: 2, quietSeconds: 0 });
  const hurt = outcomes.filter(({ failed, calls }) => failed > 0 || calls < 20);
  assert.deepEqual(hurt, []);
  assert.ok(outcomes.length >= manners.length);
});
