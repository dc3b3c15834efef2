import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { createThesaurus } from '../../src/search/thesaurus.ts';
import { stem } from '../../src/similarity/stem.ts';

test('synonyms are found by stem, in both directions', () => {
  const { synonymsOf } = createThesaurus();
  for (const [word, other] of [
    ['buy', 'purchase'],
    ['cars', 'automobiles'],
    ['abandon', 'leave'],
  ] as const) {
    assert.ok(synonymsOf(stem(word)).has(stem(other)), `${word} → ${other}`);
    assert.ok(synonymsOf(stem(other)).has(stem(word)), `${other} → ${word}`);
  }
});

test('unrelated and opposite words are none, nor is the word its own', () => {
  const { synonymsOf } = createThesaurus();
  for (const [word, other] of [
    ['buy', 'sell'],
    ['approve', 'reject'],
    ['car', 'boat'],
    ['start', 'stop'],
    ['buy', 'buy'],
  ] as const)
    assert.ok(!synonymsOf(stem(word)).has(stem(other)), `${word} → ${other}`);
});

test('words are known as they are spelt', () => {
  const { knows } = createThesaurus();
  for (const word of ['abandon', 'purchase', 'automobile']) assert.equal(knows(word), true, word);
  for (const word of ['abandn', 'purchse', 'zorble', '']) assert.equal(knows(word), false, word);
});

test('a word that is not there has no synonyms', () => {
  assert.equal(createThesaurus().synonymsOf('zorble').size, 0);
});

test('the file is read with the first question, once', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'thesaurus-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = pathToFileURL(join(folder, 'synonyms.txt.gz'));
  const thesaurus = createThesaurus(file);
  assert.throws(() => thesaurus.knows('zorble'), { code: 'ENOENT' });
  await writeFile(file, gzipSync('zorble quixy\nfrob quixy zorble\n'));
  assert.deepEqual([...thesaurus.synonymsOf(stem('quixy'))].toSorted(), ['frob', 'zorbl'].map(stem).toSorted());
  await rm(file);
  assert.equal(thesaurus.knows('frob'), true);
});
