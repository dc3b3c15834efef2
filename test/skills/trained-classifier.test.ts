import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultSkills } from '../../src/skills/taxonomy.ts';
import { createTrainedClassifier, loadTrainedClassifier } from '../../src/skills/trained-classifier.ts';
import { embedder } from '../search/sample-tools.ts';

const again = 'run "npm run fit-skills" and commit assets/skill-classifier.json';
const calibration = { slopes: [1], bias: 0, min: 0.5 };
const data = {
  embedding: 'any',
  features: 2,
  skills: [
    { id: 'a', bias: 0, scale: 0.1 },
    { id: 'b', bias: 0, scale: 0.1 },
  ],
  weights: Buffer.from(Int8Array.from([10, 0, 0, -10])).toString('base64'),
  calibration: { first: calibration, further: calibration, described: calibration },
};

test('the shipped weights fit the shipped embedding and taxonomy', () => {
  const { embedding, rank } = loadTrainedClassifier();
  assert.equal(embedding, embedder.identity, again);
  const ids = rank(new Float32Array(10_000)).map(({ skillId }) => skillId);
  assert.deepEqual(ids.toSorted(), defaultSkills.map(({ id }) => id).toSorted(), again);
});

test('skills are ranked by their share, and all shares are one', () => {
  const { rank } = createTrainedClassifier(data);
  const ranking = rank(Float32Array.from([1, 1]));
  assert.deepEqual(
    ranking.map(({ skillId }) => skillId),
    ['a', 'b'],
  );
  assert.ok(Math.abs(ranking.reduce((sum, { share }) => sum + share, 0) - 1) < 1e-9);
});

test('weights of another size are refused', () => {
  assert.throws(() => createTrainedClassifier({ ...data, features: 3 }), /do not fit/);
});
