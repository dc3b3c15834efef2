import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson, withPlainNumbers } from '../src/exact-json.ts';

test('what is parsed is written again as it was, whatever the length of its numbers', () => {
  for (const text of [
    '{"id":1234567890123456789,"list":[18446744073709551615,-9223372036854775808],"pi":3.14159265358979323846}',
    '[1e400,-1.5e-400,9007199254740993,0.1234567890123456789]',
    '{"same":[0,-1,1.5,1e3,9007199254740991,"1234567890123456789","1e400"],"deep":{"er":{"n":12345678901234567890}}}',
    '12345678901234567890',
    '{"short":1,"text":"0000000000000000000000"}',
  ]) {
    const expected = text.replace('1e3', '1000'); // the same number, and exact
    assert.equal(JSON.stringify(parseJson(text)), expected);
  }
});

test('numbers that fit are plain numbers', () => {
  assert.deepEqual(
    parseJson('[1, 2.50, 123456789012345, 9007199254740992000, 0.1]'),
    [1, 2.5, 123456789012345, 9007199254740992000, 0.1],
  );
});

test('broken JSON is an error, with long numbers and without', () => {
  for (const text of ['', '{', '[1234567890123456789', '01234567890123456789']) assert.throws(() => parseJson(text));
});

test('for those who look into values all numbers can be plain numbers', () => {
  const value = parseJson('{"n":1234567890123456789,"list":[{"m":1e400}],"text":"a"}');
  assert.deepEqual(withPlainNumbers(value), {
    n: 1234567890123456800,
    list: [{ m: Number.POSITIVE_INFINITY }],
    text: 'a',
  });
  const plain = { n: 1 };
  assert.equal(withPlainNumbers(plain), plain);
});
