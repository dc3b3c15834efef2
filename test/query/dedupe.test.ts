import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toCodes } from '../../src/query/codes.ts';
import { dedupe, normalise } from '../../src/query/dedupe.ts';
import { distanceMeter } from '../../src/query/levenshtein.ts';
import { createNormaliser } from '../../src/query/normalise.ts';
import { random } from './random.ts';

/** The definition as it reads, in the plainest code: the fast one must agree with it to the last index. */
function plainClusters(contents: readonly string[], threshold: number): number[][] {
  const clusters: number[][] = [];
  const texts = contents.map(normalise);
  texts.forEach((text, index) => {
    const home = clusters.find(([first = 0]) => isDuplicate(text, texts[first] ?? '', threshold));
    if (home === undefined) clusters.push([index]);
    else home.push(index);
  });
  return clusters;
}

function isDuplicate(a: string, b: string, threshold: number): boolean {
  return a === b || 1 - plainDistance(a, b) / Math.max(a.length, b.length) > threshold;
}

function plainDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(substituted, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}

function randomText(next: () => number, length: number, alphabet: string): string {
  return Array.from({ length }, () => alphabet[Math.floor(next() * alphabet.length)]).join('');
}

/** Applies `edits` random insertions, deletions and substitutions. */
function mutate(next: () => number, text: string, edits: number, alphabet: string): string {
  let result = text;
  for (let i = 0; i < edits; i++) {
    const at = Math.floor(next() * (result.length + 1));
    const kind = Math.floor(next() * 3);
    const letter = kind === 1 ? '' : (alphabet[Math.floor(next() * alphabet.length)] ?? '');
    result = result.slice(0, at) + letter + result.slice(kind === 0 ? at : at + 1);
  }
  return result;
}

const alphabets = ['ab', 'abcd efgh', 'the quick brown fox jumps over lazy dogs', 'äöü漢字かな🙂 ab'];

test('texts are compared in lower case, with one space for all white space and none at the ends', () => {
  const toNormalised = createNormaliser();
  const check = (text: string) => {
    const expected = text.toLowerCase().replace(/[\s\u200b]+/g, ' ');
    assert.deepEqual(toNormalised(text), toCodes(expected.replace(/^ | $/g, '')), JSON.stringify(text));
  };
  for (let code = 0; code <= 0xffff; code++) check(`A${String.fromCharCode(code)}b`);
  const next = random(5);
  for (let round = 0; round < 2000; round++) {
    const alphabet = ['abcdefghijkl ', 'ABcd  ', 'xY \n\t', 'aÄ \u00a0𐐀'][round % 4] ?? '';
    check(randomText(next, Math.floor(next() * 80), alphabet));
  }
});

test('the distance test agrees with the plain distance at every limit around it', () => {
  const next = random(7);
  const meter = distanceMeter();
  for (let round = 0; round < 1500; round++) {
    const alphabet = alphabets[round % alphabets.length] ?? 'ab';
    const size = round % 50 === 0 ? 3000 : 300;
    const a = randomText(next, Math.floor(next() * size), alphabet);
    const b =
      round % 3 === 0
        ? randomText(next, Math.floor(next() * size), alphabet)
        : mutate(next, a, Math.floor((next() * size) / 4), alphabet);
    const distance = plainDistance(a, b);
    meter.prepare(toCodes(a));
    for (const limit of [0, 1, distance - 1, distance, distance + 1, 2 * distance]) {
      assert.equal(meter.atMost(toCodes(b), limit), distance <= limit, `${a}|${b}|${limit}|${distance}`);
    }
  }
});

for (const threshold of [0, 0.3, 0.5, 0.8, 0.95, 1]) {
  test(`clusters equal those of the plain definition at threshold ${threshold}`, () => {
    const next = random(Math.round(threshold * 100) + 1);
    for (let round = 0; round < 60; round++) {
      const alphabet = alphabets[round % alphabets.length] ?? 'ab';
      const size = [12, 60, 250][round % 3] ?? 60;
      const seeds = Array.from({ length: 5 }, () => randomText(next, Math.floor(size * (0.5 + next())), alphabet));
      const contents = Array.from({ length: 18 }, () => {
        const seed = seeds[Math.floor(next() * seeds.length)] ?? '';
        // Around the threshold, where a wrong bound would show.
        return mutate(next, seed, Math.floor(next() * seed.length * (1 - threshold) * 1.6), alphabet);
      });
      const result = dedupe(contents, { threshold });
      assert.deepEqual(result.clusters, plainClusters(contents, threshold));
      assert.equal(result.complete, true);
    }
  });
}

test('002 §3: formatting alone does not make a text distinct, a different text stays', () => {
  const { clusters } = dedupe(['Use  the\nuseState hook', 'use the usestate hook', 'Something else entirely']);
  assert.deepEqual(clusters, [[0, 1], [2]]);
});

test('a text like an earlier member but unlike the first of its cluster starts its own', () => {
  const a = 'a'.repeat(100);
  const b = `${'a'.repeat(85)}${'b'.repeat(15)}`;
  const c = `${'a'.repeat(70)}${'b'.repeat(30)}`;
  assert.deepEqual(dedupe([a, b, c]).clusters, [[0, 1], [2]]);
});

test('empty texts and a single text are fine', () => {
  assert.deepEqual(dedupe([]).clusters, []);
  assert.deepEqual(dedupe(['']).clusters, [[0]]);
  assert.deepEqual(dedupe(['', ' ', 'x']).clusters, [[0, 1], [2]]);
});

test('hostile texts that pass every bound stop at the work limit and say so; equal ones are still merged', () => {
  const next = random(3);
  const contents = Array.from({ length: 60 }, () => randomText(next, 2000, 'ab'));
  const result = dedupe([...contents, ...contents], { maxSteps: 10_000, threshold: 0.75 });
  assert.equal(result.complete, false);
  assert.ok(result.clusters.every((members) => members.length >= 2));
});

test('texts whose table would fill the memory are compared exactly, and the answer says so', () => {
  const next = random(4);
  const han = String.fromCodePoint(...Array.from({ length: 4000 }, (_, i) => 0x4e00 + i));
  const text = randomText(next, 200_000, han);
  const edited = `+${text}`.replace(/.$/, '-');
  const result = dedupe([text, edited, text]);
  assert.deepEqual(result, { clusters: [[0, 2], [1]], complete: false });
});
