import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyseQuestion } from '../../../src/query/question/question.ts';
import { correctSpelling } from '../../../src/query/question/spelling.ts';
import { stopWords } from '../../../src/similarity/stop-words.ts';
import { lexicon } from '../servers.ts';

const correct = (text: string): string => correctSpelling(text, stopWords, lexicon);

test('slips of the finger in small words', () => {
  for (const [text, expected] of [
    ['wher is the key', 'where is the key'],
    ['whcih is the key', 'which is the key'],
    ['konw the key', 'know the key'],
    ['wich is the key', 'which is the key'],
    ['the key abuot it', 'the key about it'],
    ['Wher is the key', 'Where is the key'],
  ] as const)
    assert.equal(correct(text), expected);
});

test('words that carry the question stay as they are', () => {
  for (const text of [
    ...['the wifi key', 'a docker image', 'kubectl apply', 'invocie 12', 'the recieve buffer', 'whale watching'],
    ...['teh key', 'were they there', 'shore leave'],
  ])
    assert.equal(correct(text), text);
});

test('names, identifiers, paths and addresses are spelt as they are spelt', () => {
  for (const text of [
    ...['the letter to Wher', 'WHER is it', 'konw_id', 'konw.md', 'src/konw', 'ann@konw.test', '#konw', 'konw-how'],
    ...["the konw's key", 'konw2'],
  ])
    assert.equal(correct(text), text);
});

test('a corrected word is a small word of the question, not a name', () => {
  const question = analyseQuestion('Wher is the parking permit?', lexicon);
  assert.deepEqual(question.names, []);
  assert.deepEqual([...question.wants], ['where']);
  assert.deepEqual(question.keywords.toSorted(), ['parking', 'permit']);
});
