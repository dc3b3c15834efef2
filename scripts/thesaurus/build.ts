/**
 * Writes assets/synonyms.txt.gz from two thesauri: Moby (public domain, in the npm package `moby`) and the English
 * thesaurus of OpenOffice (BSD, in the npm package `thesaurus`). A pair is kept where both name it, or one of them does in
 * both directions, and the embedding does not speak against it.
 *
 *     npm pack moby thesaurus   # and unpack both
 *     node scripts/thesaurus/build.ts <moby>/words.txt <thesaurus>/lib/th_en_US_new.js
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { loadStaticEmbedder } from '../../src/search/embed.ts';
import { stem } from '../../src/similarity/stem.ts';

const [mobyFile, officeFile] = process.argv.slice(2);
if (mobyFile === undefined || officeFile === undefined)
  throw new Error('Usage: build.ts <words.txt> <th_en_US_new.js>');

const maxSynonyms = 10;
const minSimilarity = { both: 0.15, one: 0.35 };

type Thesaurus = ReadonlyMap<string, ReadonlySet<string>>;

const { embedText, rarity } = loadStaticEmbedder();
const moby = readMoby(mobyFile);
const office: Thesaurus = new Map(
  Object.entries(createRequire(import.meta.url)(resolve(officeFile)) as Record<string, string[]>).map(
    ([word, synonyms]) => [word, new Set(synonyms)],
  ),
);

const isWord = (word: string): boolean => /^[a-z]{3,}$/.test(word) && (rarity(word) < 1 || moby.has(word));
const vectors = new Map<string, Float32Array>();

const lines = [...new Set([...moby.keys(), ...office.keys()])]
  .filter(isWord)
  .toSorted()
  .flatMap((word) => {
    const synonyms = synonymsOf(word);
    return synonyms.length === 0 ? [] : [`${word} ${synonyms.join(' ')}`];
  });
writeFileSync(new URL('../../assets/synonyms.txt.gz', import.meta.url), gzipSync(lines.join('\n'), { level: 9 }));
console.log(`${lines.length} words with synonyms`);

function readMoby(file: string): Thesaurus {
  const entries = readFileSync(file, 'latin1')
    .split(/\r?\n/)
    .map((line) => line.split(','))
    .filter(([word = '']) => /^[a-z]+$/.test(word));
  return new Map(entries.map(([word = '', ...synonyms]) => [word, new Set(synonyms)]));
}

function synonymsOf(word: string): string[] {
  const named = new Set([...(moby.get(word) ?? []), ...(office.get(word) ?? [])]);
  return [...named]
    .filter((other) => isWord(other) && other !== word && stem(other) !== stem(word))
    .map((other) => ({ other, similarity: cosine(word, other), agreement: agreementOn(word, other) }))
    .filter(({ similarity, agreement }) => agreement !== 'none' && similarity >= minSimilarity[agreement])
    .toSorted((a, b) => b.similarity - a.similarity)
    .slice(0, maxSynonyms)
    .map(({ other }) => other);
}

function agreementOn(word: string, other: string): 'both' | 'one' | 'none' {
  const times = (thesaurus: Thesaurus): number =>
    Number(thesaurus.get(word)?.has(other) ?? false) + Number(thesaurus.get(other)?.has(word) ?? false);
  if (times(moby) > 0 && times(office) > 0) return 'both';
  return times(office) === 2 ? 'one' : 'none';
}

function cosine(a: string, b: string): number {
  const [x, y] = [vectorOf(a), vectorOf(b)];
  return x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0);
}

function vectorOf(word: string): Float32Array {
  const vector = vectors.get(word) ?? embedText(word);
  vectors.set(word, vector);
  return vector;
}
