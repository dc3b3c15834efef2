import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadStaticEmbedder } from '../../src/search/embed.ts';
import { createLexicalIndex, toLexicalQuery } from '../../src/search/lexical.ts';
import { dot } from '../../src/similarity/cosine.ts';
import { createVectorIndex } from '../../src/similarity/vector-index.ts';
import { embedder, sampleTools } from './sample-tools.ts';

test('embed: embeds many texts, names its model by content', async () => {
  const loaded = loadStaticEmbedder();
  assert.match(loaded.identity, /^static-tools-256:[0-9a-f]{16}$/);
  const texts = Array.from({ length: 5_000 }, (_, index) => `send message number ${index} to the team`);
  const vectors = await loaded.embed(texts);
  assert.equal(vectors.length, texts.length);
  assert.equal(vectors[0]?.length, loaded.dimensions);
});

test('embed: paraphrases are nearer than other subjects, empty text is similar to nothing', () => {
  const mail = embedder.embedText('send an email');
  assert.ok(
    dot(mail, embedder.embedText('write a mail to my boss')) > dot(mail, embedder.embedText('rotate an image')),
  );
  assert.equal(dot(embedder.embedText(''), mail), 0);
});

test('lexical: removing and adding tools leaves the same scores as building anew', () => {
  const query = toLexicalQuery('create an issue in the repository');
  const built = createLexicalIndex();
  for (const tool of sampleTools) built.add(tool.id, tool);
  const changed = createLexicalIndex();
  for (const tool of [...sampleTools].reverse()) changed.add(tool.id, tool);
  for (const tool of sampleTools.slice(2, 6)) changed.remove(tool.id);
  for (const tool of sampleTools.slice(2, 6)) changed.add(tool.id, tool);
  assert.equal(changed.size, sampleTools.length);
  const expected = built.score(query);
  const actual = changed.score(query);
  for (const { id } of sampleTools) {
    assert.ok(Math.abs((expected.tool[id] ?? 0) - (actual.tool[id] ?? 0)) < 1e-6);
    assert.equal(expected.server[id], actual.server[id]);
  }
});

test('lexical: the server is a score of its own, and removed tools score nothing', () => {
  const index = createLexicalIndex();
  for (const tool of sampleTools) index.add(tool.id, tool);
  const { server, tool } = index.score(toLexicalQuery('create an issue on gitlab'));
  assert.ok((server[3] ?? 0) > 0);
  assert.equal(server[1], 0);
  assert.ok((tool[1] ?? 0) > (tool[4] ?? 0));
  index.remove(3);
  assert.equal(index.score(toLexicalQuery('gitlab issue')).tool[3], 0);
  assert.deepEqual(index.explain(toLexicalQuery('creating issues'), 1), ['issu', 'creat']);
});

test('vectors: the scan equals the cosine, whatever the dimensions', () => {
  for (const dimensions of [256, 100, 3]) {
    const index = createVectorIndex(dimensions);
    const vectors = Array.from({ length: 1_500 }, (_, row) => {
      const vector = Float32Array.from({ length: dimensions }, (_, d) => Math.sin(row * 7.3 + d * 1.7));
      const length = Math.hypot(...vector);
      return vector.map((value) => value / length);
    });
    for (const [slot, vector] of vectors.entries()) index.set(slot, vector);
    index.remove(7);
    const request = vectors[3] ?? new Float32Array(dimensions);
    const scores = index.scan(request);
    for (const [slot, vector] of vectors.entries()) {
      const expected = slot === 7 ? 0 : dot(vector, request);
      assert.ok(Math.abs((scores[slot] ?? 0) - expected) < 0.01, `${dimensions}: ${slot}`);
    }
  }
});

test('vectors: another length is refused', () => {
  assert.throws(() => createVectorIndex(4).set(0, new Float32Array(5)), RangeError);
});
