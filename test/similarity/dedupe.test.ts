import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Comparable, dedupe, normalise } from '../../src/similarity/dedupe.ts';
import { distanceAtMost } from '../../src/similarity/levenshtein.ts';
import { stem } from '../../src/similarity/stem.ts';
import { stopWords } from '../../src/similarity/stop-words.ts';
import { random } from '../query/random.ts';

const negations = new Set('not no never none nothing without cannot neither nor except unless'.split(' '));

/** The definition as it reads, in the plainest code: the fast one must agree with it to the last index. */
function plainClusters(items: readonly Comparable[], threshold: number): number[][] {
  const contentOf = ([index = 0]: readonly number[]) => items[index]?.content ?? '';
  const serversOf = (members: readonly number[]) => members.map((member) => items[member]?.server);
  const groups: number[][] = [];
  items.forEach((item, index) => {
    const isSameAnswer = (member: number) =>
      items[member]?.server === item.server && items[member]?.answer === item.answer;
    const equal = groups.find(
      (members) => !members.some(isSameAnswer) && normalise(contentOf(members)) === normalise(item.content),
    );
    if (equal === undefined) groups.push([index]);
    else equal.push(index);
  });
  const clusters: number[][] = [];
  for (const group of groups) {
    const near = clusters.find(
      (members) =>
        serversOf(members).every((server) => !serversOf(group).includes(server)) &&
        isNear(contentOf(group), contentOf(members), threshold),
    );
    if (near === undefined) clusters.push([...group]);
    else near.push(...group);
  }
  return clusters.map((members) => members.toSorted((a, b) => a - b));
}

function isNear(a: string, b: string, threshold: number): boolean {
  const [x, y] = [normalise(a), normalise(b)];
  const similarity = 1 - plainDistance(x, y) / Math.max(x.length, y.length);
  return similarity > threshold && (isContained(a, b) || isContained(b, a));
}

function isContained(short: string, long: string): boolean {
  const carrying = (text: string) =>
    (text.match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => {
      const lower = word.toLowerCase();
      return !stopWords.has(lower) || negations.has(lower);
    });
  const toStem = (word: string) => stem(word.toLowerCase());
  const wanted = carrying(short).map(toStem);
  let at = 0;
  for (const word of carrying(long)) {
    if (toStem(word) === wanted[at]) at += 1;
    else if (word !== word.toLowerCase() || /\d/.test(word) || negations.has(word)) return false;
  }
  return at === wanted.length;
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

function pick<T>(next: () => number, values: readonly T[]): T {
  return values[Math.floor(next() * values.length)] as T;
}

const said = (...pairs: [server: string, content: string, answer?: number][]): Comparable[] =>
  pairs.map(([server, content, answer = 0]) => ({ server, content, answer }));
const clustersOf = (...pairs: Parameters<typeof said>) => dedupe(said(...pairs)).clusters;

suite('definition', () => {
  test('the distance test agrees with the plain distance at every limit around it', () => {
    const next = random(7);
    for (let round = 0; round < 600; round++) {
      const letters = pick(next, ['ab', 'abcd efgh', 'the quick brown fox', 'äöü漢字かな ab']);
      const a = Array.from({ length: Math.floor(next() * 120) }, () => pick(next, [...letters])).join('');
      const b = [...a].filter(() => next() > 0.1).join('') + (round % 2 === 0 ? 'x' : '');
      const distance = plainDistance(a, b);
      for (const limit of [0, 1, distance - 1, distance, distance + 1, 2 * distance]) {
        assert.equal(distanceAtMost(a, b, limit), distance <= limit, `${a}|${b}|${limit}|${distance}`);
      }
    }
  });

  for (const threshold of [0.3, 0.5, 0.8, 0.95, 1]) {
    test(`Q-012: clusters equal those of the plain definition at threshold ${threshold}`, () => {
      const next = random(Math.round(threshold * 100));
      const words = 'retry failed requests after Monday 14 21 April Ada not never the a of slow server Berlin v2'.split(
        ' ',
      );
      const edit = (text: string[]) =>
        text.flatMap((word) => (next() < 0.08 ? [] : next() < 0.12 ? [word, pick(next, words)] : [word]));
      for (let round = 0; round < 80; round++) {
        const seeds = Array.from({ length: 4 }, () => Array.from({ length: 14 }, () => pick(next, words)));
        const items = Array.from({ length: 16 }, () => ({
          server: pick(next, ['a', 'b', 'c']),
          answer: Math.floor(next() * 2),
          content: edit(pick(next, seeds)).join(pick(next, [' ', '\n', '  '])),
        }));
        const { clusters, complete } = dedupe(items, { threshold });
        const sorted = clusters.map((members) => members.toSorted((a, b) => a - b));
        assert.deepEqual(sorted, plainClusters(items, threshold));
        assert.equal(complete, true);
      }
    });
  }
});

suite('nothing that a reader could need is lost', () => {
  test('formatting and ordinary words alone do not make a text distinct; the longer one is shown', () => {
    assert.deepEqual(
      clustersOf(['a', 'Use  the\nuseState hook'], ['b', 'use the usestate hook'], ['c', 'Something else entirely']),
      [[0, 1], [2]],
    );
    const shorter = 'Requests that failed are retried three times, each pause twice as long as the one before.';
    const longer = 'Requests that failed are always retried three times, each pause twice as long as the one before.';
    assert.deepEqual(clustersOf(['a', shorter], ['b', longer]), [[1, 0]]);
  });

  const alike = 'The harbour office opens at eight and closes at noon, on';
  for (const [what, a, b] of [
    ['a date', `${alike} 14 April`, `${alike} 21 May`],
    ['a number', `${alike} pier 4`, `${alike} pier 5`],
    ['a name', `${alike} the pier of Anna Berger`, `${alike} the pier of Anna Berge`],
    ['an identifier', `${alike} berth B-12`, `${alike} berth B-21`],
    ['a negation', `${alike} weekends, and tickets are sold`, `${alike} weekends, and tickets are not sold`],
    ['an opposite', 'approve change of the rota for the crew', 'reject change of the rota for the crew'],
  ] as const) {
    test(`Q-012: two servers that differ in ${what} stay two results`, () => {
      assert.deepEqual(clustersOf(['a', a], ['b', b]), [[0], [1]]);
    });
  }

  test('Q-012: rows of one answer stay rows, however alike they are, also where two are equal', () => {
    const rows = ['Lund, Odense, paid', 'Lund, Odense, unpaid', 'Lund, Odense, paid'];
    assert.deepEqual(dedupe(rows.map((content) => ({ server: 'crm', answer: 0, content }))).clusters, [[0], [1], [2]]);
  });

  test('what one server says in two answers is one result', () => {
    assert.deepEqual(clustersOf(['a', 'The key is at the desk.', 0], ['a', 'The key is at the desk.', 1]), [[0, 1]]);
  });

  test('a text with its title above it and the same text under that title are one result; another title is another thing', () => {
    const text = 'The key is at the desk.';
    const titled = (title: string, content: string, answer: number) => ({ server: 'a', answer, title, content });
    const found = titled('Keys', `Keys\n${text}`, 0);
    assert.deepEqual(dedupe([found, titled('Keys', text, 1)]).clusters, [[0, 1]]);
    assert.deepEqual(dedupe([found, titled('Boats', `Boats\n${text}`, 1)]).clusters, [[0], [1]]);
  });

  test('every wording of what one server says joins what another one says', () => {
    const longer = 'Requests that failed are always retried three times.';
    const shorter = 'Requests that failed are retried three times.';
    assert.deepEqual(clustersOf(['a', longer], ['b', shorter, 0], ['b', shorter, 1]), [[0, 1, 2]]);
  });

  test('empty texts and a single text are fine', () => {
    assert.deepEqual(dedupe([]).clusters, []);
    assert.deepEqual(clustersOf(['a', '']), [[0]]);
    assert.deepEqual(clustersOf(['a', ''], ['b', ' '], ['c', 'x']), [[0, 1], [2]]);
  });
});

test('hostile texts stop at the work limit and say so; equal ones are still merged', () => {
  const next = random(3);
  const contents = Array.from({ length: 60 }, () =>
    Array.from({ length: 300 }, () => pick(next, ['lo', 'la'])).join(' '),
  );
  const twice = [...contents, ...contents].map((content, i) => ({ server: `s${i}`, answer: 0, content }));
  const { clusters, complete } = dedupe(twice, { maxSteps: 1_000, threshold: 0.3 });
  assert.equal(complete, false);
  assert.ok(clusters.every((members) => members.length >= 2));
});
