import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { didYouMean, suggest } from '../src/suggestions.ts';

const known = ['filesystem', 'github', 'gitlab', 'memory', 'brave-search', 'create_issue', 'x'];

suite('what is suggested for a typo', () => {
  const cases: [given: string, suggested: string[]][] = [
    ['filesytem', ['filesystem']],
    ['fielsystem', ['filesystem']],
    ['FileSystem', ['filesystem']],
    ['file', ['filesystem']],
    ['githib', ['github', 'gitlab']],
    ['git', ['github', 'gitlab']],
    ['memroy', ['memory']],
    ['brave_search', ['brave-search']],
    ['create-isue', ['create_issue']],
    ['y', []],
    ['weather', []],
    ['', []],
  ];
  for (const [given, suggested] of cases) {
    test(`${given || '(nothing)'} → ${suggested.join(', ') || 'nothing'}`, () =>
      assert.deepEqual(suggest(given, known), suggested));
  }
});

test('as a sentence', () => {
  assert.equal(didYouMean('weather', known), '');
  assert.equal(didYouMean('memroy', known), '. Did you mean memory?');
  assert.equal(didYouMean('git', known), '. Did you mean github or gitlab?');
});

test('a long name costs no more than a short one', () => {
  const long = 'a'.repeat(1_000_000);
  assert.deepEqual(suggest(long, [long.slice(1), 'b']), [long.slice(1)]);
});
