import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createModel } from '../../src/model.ts';
import { type Classification, toClassification } from '../../src/skills/classification.ts';
import { createClassificationQueue } from '../../src/skills/classification-queue.ts';
import { createModelClassifier } from '../../src/skills/classifier-model.ts';
import { createSkillVectors } from '../../src/skills/skill-vectors.ts';
import { defaultSkills } from '../../src/skills/taxonomy.ts';
import { startLoopback } from '../search/loopback.ts';

const tools = (...ids: number[]) =>
  ids.map((id) => ({
    id,
    name: `t${id}`,
    title: '',
    description: 'Send an email',
    parameters: 'path: string, limit?: integer',
    server: { name: 's', description: 'Mail of the team' },
  }));
const email: Classification = toClassification([{ skillId: 'email', confidence: 0.9 }]);

test('taxonomy: ids are distinct and every skill describes itself', () => {
  assert.equal(new Set(defaultSkills.map(({ id }) => id)).size, defaultSkills.length);
  for (const skill of defaultSkills) assert.ok(skill.description.length > 20 && skill.examples.length >= 3);
});

test('BR-004: assignments below 0.5 are not saved, at most three are', () => {
  const result = toClassification(
    [0.4, 0.6, 0.9, 0.7, 0.8].map((confidence, index) => ({ skillId: `s${index}`, confidence })),
  );
  assert.deepEqual(result.skillIds, ['s2', 's4', 's3']);
});

test('BR-008: a skill is the mean of its tools, and its description when the last one goes', () => {
  const vectors = createSkillVectors(2);
  const description = Float32Array.from([1, 0]);
  vectors.setSkill('a', description);
  assert.equal(vectors.vectorOf('a'), description);
  vectors.setTool(1, ['a'], Float32Array.from([0, 1]));
  vectors.setTool(2, ['a', 'unknown'], Float32Array.from([1, 0]));
  assert.ok(Math.abs((vectors.vectorOf('a')?.[0] ?? 0) - Math.SQRT1_2) < 1e-6);
  vectors.setTool(2, [], null);
  assert.deepEqual([...(vectors.vectorOf('a') ?? [])], [0, 1]);
  vectors.removeTool(1);
  assert.equal(vectors.vectorOf('a'), description);
  assert.equal(vectors.toolCount('a'), 0);
});

function modelAnswer(input: unknown) {
  return { body: { stop_reason: 'tool_use', content: [{ type: 'tool_use', id: 'x', name: 'assign_skills', input }] } };
}

test('SKL-002: model: one forced tool call for several tools; unknown skills and tools are dropped', async (context) => {
  const { url, received } = await startLoopback(context, () =>
    modelAnswer({
      tools: [
        {
          tool: 0,
          skills: [
            { skill_id: 'email', confidence: 0.9 },
            { skill_id: 'invented', confidence: 1 },
          ],
        },
        { tool: 7, skills: [{ skill_id: 'email', confidence: 0.9 }] },
      ],
    }),
  );
  const { classify: ask } = createModelClassifier(createModel({ apiKey: 'k', baseUrl: url, name: 'claude' }));
  const result = await ask(tools(5, 6), defaultSkills, new AbortController().signal);
  assert.deepEqual([...result.keys()], [5]);
  assert.deepEqual(result.get(5)?.skillIds, ['email']);
  const sent = received[0];
  assert.equal(sent?.path, '/v1/messages');
  assert.equal(sent?.headers.authorization, 'Bearer k');
  assert.ok(sent?.headers['anthropic-version']);
  const body = sent?.body as { tool_choice: object; messages: { content: string }[]; max_tokens: number };
  assert.deepEqual(body.tool_choice, { type: 'tool', name: 'assign_skills' });
  const described = JSON.parse(body.messages[0]?.content ?? '[]');
  assert.equal(described.length, 2);
  assert.deepEqual(described[0], {
    tool: 0,
    name: 't5',
    description: 'Send an email',
    parameters: 'path: string, limit?: integer',
    server: 'Mail of the team',
  });
  assert.ok(body.max_tokens < 1_000);
});

test('model: bad answers, refusals, silence and absence are one named error', async (context) => {
  const answers = [
    modelAnswer({ tools: [{ tool: 'zero' }] }),
    { body: { content: [{ type: 'text', text: 'Sure!' }] } },
    { body: { nonsense: true } },
    { status: 529 },
    { hang: true },
  ];
  const { url } = await startLoopback(context, (_, count) => answers[count - 1] ?? { status: 500 });
  const { classify: ask } = createModelClassifier(createModel({ apiKey: 'k', baseUrl: url, name: 'claude' }), 300);
  const signal = new AbortController().signal;
  for (const _ of answers)
    await assert.rejects(ask(tools(1), defaultSkills, signal), { code: 'CLASSIFICATION_FAILED' });
  const { classify: nobody } = createModelClassifier(
    createModel({ apiKey: 'k', baseUrl: 'http://127.0.0.1:1', name: 'claude' }),
  );
  await assert.rejects(nobody(tools(1), defaultSkills, signal), { code: 'CLASSIFICATION_FAILED' });
});

test('queue: batches of ten, at most five at once, DISCOVERED → CLASSIFYING → CLASSIFIED', async () => {
  const sizes: number[] = [];
  const states: string[] = [];
  let atOnce = 0;
  let most = 0;
  const done: number[] = [];
  const queue = createClassificationQueue({
    classify: async (batch) => {
      sizes.push(batch.length);
      most = Math.max(most, ++atOnce);
      await new Promise(setImmediate);
      atOnce--;
      return new Map(batch.map(({ id }) => [id, email]));
    },
    onClassified: (id) => done.push(id),
    onUnclassified: () => assert.fail('nothing fails here'),
    onState: (id, state) => id === 1 && states.push(state),
  });
  queue.add(tools(...Array.from({ length: 95 }, (_, index) => index + 1)));
  await queue.idle();
  assert.equal(done.length, 95);
  assert.deepEqual([Math.max(...sizes), sizes.length, most], [10, 10, 5]);
  assert.deepEqual(states, ['DISCOVERED', 'CLASSIFYING', 'CLASSIFIED']);
  await queue.close();
});

test('EC-009: while the service is down tools are UNCLASSIFIED, and they are classified when it recovers', async () => {
  let down = true;
  let calls = 0;
  const failed = Promise.withResolvers<void>();
  const unclassified = new Set<number>();
  const classified = new Set<number>();
  const queue = createClassificationQueue({
    classify: async (batch) => {
      calls++;
      if (down) throw new Error('service down');
      return new Map(batch.map(({ id }) => [id, email]));
    },
    onClassified: (id) => classified.add(id),
    onUnclassified: (id) => {
      unclassified.add(id);
      if (unclassified.size === 50) failed.resolve();
    },
    retryDelaysMs: [60_000],
  });
  queue.add(tools(...Array.from({ length: 60 }, (_, index) => index + 1)));
  await failed.promise;
  assert.equal(queue.stateOf(1), 'UNCLASSIFIED');
  assert.equal(calls, 5, 'an outage stops the flow of requests');
  down = false;
  queue.retryNow();
  await queue.idle();
  assert.equal(classified.size, 60);
  assert.equal(queue.stateOf(1), 'CLASSIFIED');
  await queue.close();
});

test('queue: a removed tool gets no result, closing stops what runs', async () => {
  const asked = Promise.withResolvers<void>();
  const results: number[] = [];
  const queue = createClassificationQueue({
    classify: (batch, signal) => {
      asked.resolve();
      return new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        setImmediate(() => batch[0]?.id === 1 && resolve(new Map(batch.map(({ id }) => [id, email]))));
      });
    },
    onClassified: (id) => results.push(id),
    onUnclassified: () => assert.fail('closing is no failure of a tool'),
    batchSize: 2,
  });
  queue.add(tools(1, 2));
  await asked.promise;
  queue.remove([2]);
  await queue.idle();
  assert.deepEqual(results, [1]);
  queue.add(tools(3));
  await queue.close();
  assert.deepEqual(results, [1]);
});
