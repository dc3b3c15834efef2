import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadStaticEmbedder } from '../../src/search/embed.ts';
import { createLexicalIndex, type LexicalIndex, toLexicalQuery } from '../../src/search/lexical.ts';
import { createScratch } from '../../src/search/scratch.ts';
import type { SearchableTool } from '../../src/search/tool.ts';
import { dot } from '../../src/similarity/cosine.ts';
import { createVectorIndex } from '../../src/similarity/vector-index.ts';
import { embedder, sampleTools } from './sample-tools.ts';

const scoresOf = (index: LexicalIndex, query: ReturnType<typeof toLexicalQuery>) => {
  const scores = new Float32Array(index.capacity);
  index.score(query, { lexical: 1, covered: 1, named: 1 }, scores);
  return scores;
};

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
  const [expected, actual] = [scoresOf(built, query), scoresOf(changed, query)];
  for (const { id } of sampleTools) assert.ok(Math.abs((expected[id] ?? 0) - (actual[id] ?? 0)) < 1e-6);
  assert.deepEqual(built.serversNamed(query), changed.serversNamed(query));
});

test('lexical: the server is a score of its own, and removed tools score nothing', () => {
  const index = createLexicalIndex();
  for (const tool of sampleTools) index.add(tool.id, tool);
  const query = toLexicalQuery('create an issue on gitlab');
  assert.deepEqual([...index.serversNamed(query).keys()], ['gitlab']);
  const scores = scoresOf(index, query);
  assert.ok((scores[1] ?? 0) > (scores[4] ?? 0));
  index.remove(3);
  assert.equal(scoresOf(index, toLexicalQuery('gitlab issue'))[3], 0);
});

test('FIND-003: reasons are whole words as the tool spells them, the rarest first, without words that say nothing', () => {
  const index = createLexicalIndex();
  for (const tool of sampleTools) index.add(tool.id, tool);
  const [createIssue] = sampleTools as [SearchableTool];
  assert.deepEqual(index.explain(toLexicalQuery('creating issues in a repository'), createIssue), [
    'issue',
    'repository',
    'create',
  ]);
});

test('lexical: a server explains a request by its name, its own text and its tools', () => {
  const index = createLexicalIndex();
  for (const tool of sampleTools) index.add(tool.id, tool);
  const numbers = new Map([...new Set(sampleTools.map(({ server }) => server))].map((name, place) => [name, place]));
  const serverOfSlot = Int32Array.from({ length: 11 }, () => -1);
  for (const { id, server } of sampleTools) serverOfSlot[id] = numbers.get(server) ?? -1;
  const covered = (text: string, server: string) =>
    index.coverage(toLexicalQuery(text), serverOfSlot, numbers.size, createScratch()).servers[
      numbers.get(server) ?? -1
    ];
  for (const [name, number] of numbers) index.describeServer(number, name);
  assert.equal(covered('github issue', 'github'), 1);
  assert.ok((covered('github issue', 'gitlab') ?? 0) < 1);
  assert.equal(covered('sourdough', 'mail'), 0);
  const mail = numbers.get('mail') ?? -1;
  index.describeServer(mail, 'mail. For bakers: sourdough by post');
  assert.equal(covered('sourdough', 'mail'), 1);
  index.describeServer(mail, 'mail');
  assert.equal(covered('sourdough', 'mail'), 0);
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
