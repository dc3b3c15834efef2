import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fillUriTemplate } from '../../../src/query/reading/resource-steps.ts';
import { fillTemplate, fillTemplateForEachWord, keywords } from '../../../src/query/reading/template.ts';

const query = 'How is the roof of the boat house repaired?';

test('placeholders are filled in every string, however deep, and nothing else changes', () => {
  const template = { q: '{{query}}', nested: [{ words: 'about {{ keywords }}' }], limit: 3, flag: true, none: null };
  assert.deepEqual(fillTemplate(template, { query }), {
    q: query,
    nested: [{ words: 'about roof boat house repaired' }],
    limit: 3,
    flag: true,
    none: null,
  });
  assert.equal(template.q, '{{query}}', 'the template itself stays');
});

test('what has no value stays as it is written, and what is filled in is not filled again', () => {
  assert.deepEqual(fillTemplate({ a: '{{id}}', b: '{{other}}' }, { query }), { a: '{{id}}', b: '{{other}}' });
  assert.deepEqual(fillTemplate({ a: '{{query}}' }, { query: '{{id}}', id: 'secret' }), { a: '{{id}}' });
  assert.deepEqual(fillTemplate({ a: 'x {{query}}' }, { query: "$& $1 $'" }), { a: "x $& $1 $'" });
});

test('{{word}} makes a call for each of the longest words, others one', () => {
  assert.deepEqual(fillTemplateForEachWord({ q: '{{word}}' }, { query }), [
    { q: 'repaired' },
    { q: 'house' },
    { q: 'roof' },
    { q: 'boat' },
  ]);
  assert.deepEqual(fillTemplateForEachWord({ q: '{{query}}' }, { query }), [{ q: query }]);
  assert.equal(fillTemplateForEachWord({ q: '{{word}}' }, { query: 'a1b c2d e3f g4h i5j k6l' }).length, 4);
});

test('keywords leave small words out, and keep all where there is nothing else', () => {
  assert.equal(keywords('Where is C++ used in node.js?'), 'C++ used node.js');
  assert.equal(keywords('what is it'), 'what is it');
});

test('URI templates: values are encoded once, paths where the template says so stay paths', () => {
  assert.equal(fillUriTemplate('wiki://{page}', { page: 'boat house/roof' }), 'wiki://boat%20house%2Froof');
  assert.equal(fillUriTemplate('wiki://{page}', { page: 'boat%20house' }), 'wiki://boat%20house');
  assert.equal(fillUriTemplate('file:///{+path}', { path: 'plans/roof.md' }), 'file:///plans/roof.md');
  assert.equal(
    fillUriTemplate('log://{unit}{?from,to}', { unit: 'a', from: '1', to: 'x y' }),
    'log://a?from=1&to=x%20y',
  );
});
