import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wordsOf } from '../../../src/query/question/question.ts';
import { queryTerms } from '../../../src/query/question/terms.ts';
import { stem } from '../../../src/similarity/stem.ts';
import { stopWords } from '../../../src/similarity/stop-words.ts';
import { random } from '../random.ts';

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
    const query = text(6);
    const content = text(40);
    const counts = queryTerms(query).countIn(content);
    const carrying = wordsOf(query).filter((word) => !stopWords.has(word));
    const stems = [...new Set((carrying.length > 0 ? carrying : wordsOf(query)).map(stem))];
    const plain = stems.map((term) => wordsOf(content).filter((word) => stem(word) === term).length);
    assert.deepEqual([...counts], plain, `${query} in ${content}`);
    found += plain.reduce((sum, count) => sum + count, 0);
  }
  assert.ok(found > 300, `only ${found} occurrences: the texts test nothing`);
});

test('a query without words finds nothing', () => {
  assert.deepEqual([...queryTerms('?!').countIn('a text')], []);
});
