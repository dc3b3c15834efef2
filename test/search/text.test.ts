import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planRequest, withoutValues } from '../../src/search/request.ts';
import { toWords } from '../../src/search/words.ts';
import { stem } from '../../src/similarity/stem.ts';

test('words: snake_case, camelCase and acronyms come apart, product names stay whole too', () => {
  assert.deepEqual(
    toWords('list_pull-requests').map(({ whole }) => whole),
    ['list', 'pull', 'requests'],
  );
  assert.deepEqual(toWords('createIssue'), [{ whole: 'createissue', parts: ['create', 'issue'] }]);
  assert.deepEqual(toWords('getHTTPResponse')[0]?.parts, ['get', 'http', 'response']);
  assert.deepEqual(toWords('GitHub')[0], { whole: 'github', parts: ['git', 'hub'] });
});

test('words: accents fold, scripts without spaces split by character', () => {
  assert.deepEqual(
    toWords('Café über Größe').map(({ whole }) => whole),
    ['cafe', 'uber', 'große'],
  );
  assert.deepEqual(
    toWords('天气 forecast').map(({ whole }) => whole),
    ['天', '气', 'forecast'],
  );
});

test('stem: inflections meet, names and short words stay', () => {
  assert.equal(stem('issues'), stem('issue'));
  assert.equal(stem('queries'), stem('query'));
  assert.equal(stem('creating'), stem('create'));
  assert.equal(stem('stopped'), stem('stop'));
  assert.equal(stem('reviews'), stem('review'));
  for (const word of ['news', 'series', 'address', 'status', 'aws', 'dns']) assert.equal(stem(word), word);
});

const isAction = (word: string) => ['send', 'create', 'list', 'get'].includes(word);

test('request: one wish has no parts', () => {
  assert.deepEqual(planRequest('Create an issue for the login bug and its cause', isAction).parts, []);
});

test('request: steps become parts, by sentence, step word or action', () => {
  assert.deepEqual(planRequest('Get the weather in Oslo, then send it to the team channel', isAction).parts, [
    'Get the weather in Oslo',
    'send it to the team channel',
  ]);
  assert.deepEqual(planRequest('List the open invoices. Create a reminder for each one.', isAction).parts.length, 2);
  assert.deepEqual(planRequest('list all customers and send everyone an email', isAction).parts.length, 2);
});

test('request: a verb begins a step even where no tool begins with it, a noun does not', () => {
  const parts = (query: string) => planRequest(query, () => false).parts;
  assert.deepEqual(parts('read the invoice file, add the numbers and remember the sum'), [
    'read the invoice file',
    'add the numbers',
    'remember the sum',
  ]);
  assert.deepEqual(parts('translate the letter and email it to my team'), [
    'translate the letter',
    'email it to my team',
  ]);
  assert.deepEqual(parts('show all customers and their orders, without the archived ones'), []);
});

test('request: a quoted address leaves its closing quote, so that the text behind it stays', () => {
  const { meanings } = planRequest("Fetch 'https://example.com/a.' and mail it as 'Findings of today'", () => false);
  assert.equal(meanings[0]?.includes('mail it as'), true);
});

test('request: values are left out of the parts, the whole keeps them', () => {
  assert.equal(withoutValues('open "a. then b" at https://example.com/x (id: 4)'), 'open at');
  assert.equal(planRequest('  find "x"  ', isAction).whole, 'find "x"');
});

test('request: a file name that stands alone says «file» and its kind, products and quoted values do not', () => {
  const meaningOf = (query: string) => planRequest(query, () => false).meanings[0];
  assert.equal(meaningOf('rotate photo.PNG to the left side'), 'rotate image file to the left side');
  assert.equal(meaningOf("summarize 'minutes.md' for the board"), 'summarize file for the board');
  assert.equal(meaningOf('explain how Node.js reads 600519.SH'), 'explain how Node.js reads 600519.SH');
  assert.equal(meaningOf('print the file notes.txt twice'), 'print the file notes.txt twice');
});
