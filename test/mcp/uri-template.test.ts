import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchesTemplate } from '../../src/mcp/uri-template.ts';

const fits: [template: string, ...uris: string[]][] = [
  ['file:///{path}', 'file:///a.txt', 'file:///'],
  ['file:///{+path}', 'file:///a/b/c.txt', 'file:///a.txt'],
  ['db://{table}/rows/{id}', 'db://users/rows/7', 'db:///rows/'],
  ['notes://{a}-{b}', 'notes://x-y', 'notes://a-b-c'],
  ['search://items{?query,page}', 'search://items', 'search://items?query=a/b&page=2'],
  ['git://{owner}{/path}', 'git://me/a/b', 'git://me'],
  ['plain://one', 'plain://one'],
  ['odd://{unclosed', 'odd://{unclosed'],
  ['{+anything}', '', 'what/ever'],
];
const fitsNot: [template: string, ...uris: string[]][] = [
  ['file:///{path}', 'file:///a/b', 'file://', 'xfile:///a'],
  ['db://{table}/rows/{id}', 'db://users/rows', 'db://a/b/rows/7', 'db://users/rows/7/8'],
  ['notes://{a}-{b}', 'notes://xy'],
  ['plain://one', 'plain://one/more', 'plain://on'],
  ['odd://{unclosed', 'odd://other'],
  ['file:///{path}', `file:///${'a'.repeat(3_000)}`],
];

for (const [expected, cases] of [
  [true, fits],
  [false, fitsNot],
] as const) {
  for (const [template, ...uris] of cases) {
    for (const uri of uris)
      test(`${template} ${expected ? 'fits' : 'does not fit'} "${uri.slice(0, 40)}"`, () =>
        assert.equal(matchesTemplate(template, uri), expected));
  }
}

test('a template that is made to take for ever does not', () => {
  assert.equal(matchesTemplate(`${'{+a}'.repeat(40)}!`, 'x'.repeat(2_000)), false);
  assert.equal(matchesTemplate(`${'{+a}x'.repeat(40)}!`, 'x'.repeat(2_000)), false);
  assert.equal(matchesTemplate(`${'{+a}'.repeat(600)}`, 'x'.repeat(2_000)), false, 'too many expressions');
});

test('so many templates are compared as the work allows', () => {
  const work = { left: 10_000 };
  const slow = `${'{+a}x'.repeat(40)}`;
  assert.equal(matchesTemplate(slow, 'x'.repeat(100), work), true);
  while (work.left >= 0) matchesTemplate(slow, 'x'.repeat(100), work);
  assert.equal(matchesTemplate(slow, 'x'.repeat(100), work), false);
  assert.equal(matchesTemplate('y://{a}', 'x'.repeat(100), { left: 0 }), false, 'told by its beginning');
});
