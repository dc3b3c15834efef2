import assert from 'node:assert/strict';
import { mkdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { holdsFacts, type Question } from '../../bench/questions/questions.ts';
import { smallQuestions, smallWorld } from '../../bench/questions/small.ts';
import type { World } from '../../bench/questions/world.ts';
import { startApp, type TestApp } from '../support/app.ts';

/** One may run out of time on a loaded machine. */
const maxUnanswered = 1;

describe('ordinary questions to ordinary servers (a part of `npm run bench questions`)', () => {
  const directory = join(realpathSync(tmpdir()), `questions-${process.pid}`);
  let world: World;
  let app: TestApp;

  before(async () => {
    mkdirSync(directory);
    world = smallWorld(directory);
    app = await startApp();
    await Promise.all(world.servers.map(({ name, connection }) => app.add(name, connection)));
  });

  after(async () => {
    await app?.close();
    await world?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it('are answered in the first three results, or with nothing where nobody knows', async () => {
    const unanswered: string[] = [];
    for (const question of smallQuestions) {
      const { status, body } = await app.api('POST', '/api/v1/query', { query: question.question });
      assert.equal(status, 200, `${question.id}: ${JSON.stringify(body)}`);
      if (!isAnswered(question, body.results)) unanswered.push(question.id);
    }
    assert.ok(smallQuestions.length >= 25, `${smallQuestions.length} questions`);
    assert.ok(unanswered.length <= maxUnanswered, `not answered: ${unanswered.join(', ')}`);
  });

  it('change nothing', () => {
    assert.deepEqual(world.findWrites(), []);
  });
});

function isAnswered(question: Question, results: { title?: string; content: string }[]): boolean {
  return question.kind === 'nobody knows' ? results.length === 0 : holdsFacts(results.slice(0, 3), question.expect);
}
