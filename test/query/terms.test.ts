import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countTerms, queryTerms, stem, wordsOf } from '../../src/query/terms.ts';
import { random } from './random.ts';

test('words are runs of letters and digits; Kana and Han stand alone', () => {
  assert.deepEqual(wordsOf('my_query: Ünïcode №5, 3×4'), ['my', 'query', 'ünïcode', '5', '3', '4']);
  assert.deepEqual(wordsOf('東京 tower、カメラ'), ['東', '京', 'tower', 'カ', 'メ', 'ラ']);
});

test('terms are counted as if every word of the text were looked at', () => {
  const parts = [
    'quer',
    'y',
    'ies',
    'retry',
    'retries',
    'İs',
    'i̇s',
    'ing',
    'cache',
    '猫',
    'é',
    'É',
    '_',
    ' ',
    '-',
    'ΟΣ',
    'ος',
    's',
  ];
  const next = random(11);
  const text = (length: number) => Array.from({ length }, () => parts[Math.floor(next() * parts.length)]).join('');
  let found = 0;
  for (let round = 0; round < 500; round++) {
    const terms = queryTerms(text(6));
    const content = text(40);
    const counts = countTerms(content, terms);
    for (const [term, at] of terms.stems) {
      const plain = wordsOf(content).filter((word) => stem(word) === term).length;
      assert.equal(counts[at], plain, `${term} in ${content}`);
      found += plain;
    }
  }
  assert.ok(found > 300, `only ${found} occurrences: the texts test nothing`);
});

test('a query without words finds nothing', () => {
  assert.deepEqual([...countTerms('a text', queryTerms('?!'))], []);
});
