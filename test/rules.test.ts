/** docs/rules.md against the tests and comments that cite it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { createCitations, idsIn, repository, sourceFiles } from './support/citations.ts';

const stated = [
  ...readFileSync(join(repository, 'docs', 'rules.md'), 'utf8').matchAll(/^- \*\*([A-Z]+-\d{3})\*\* (.+)$/gm),
];
const rules = new Map(stated.map(([, id = '', text = '']) => [id, text]));
const prefixes = new Set([...rules.keys()].map((id) => id.split('-')[0]));

const citations = createCitations();
const files = sourceFiles(['src', 'test', 'scripts', 'bench', 'web']);
const tests = files.filter((file) => file.endsWith('.test.ts')).flatMap((file) => citations.testsOf(file));
const comments = files.flatMap((file) => citations.commentsOf(file));

suite('docs/rules.md', () => {
  test('states every rule once', () => {
    assert.ok(stated.length > 80, `only ${stated.length} rules were found`);
    assert.equal(rules.size, stated.length, 'an id is stated twice');
  });

  for (const id of rules.keys()) {
    test(`${id} is asserted by a test that cites it`, () => {
      const citing = tests.filter(({ ids }) => ids.includes(id));
      assert.ok(citing.length > 0, `no test cites ${id} in its title or in the comment above it`);
      const places = citing.map(({ file, line }) => `${file}:${line}`).join(', ');
      assert.ok(
        citing.some(({ asserts }) => asserts),
        `no test that cites ${id} asserts anything: ${places}`,
      );
    });
  }

  test('no test that cites a rule is without an assertion', () => {
    const empty = tests.filter(({ ids, asserts }) => isCiting(ids) && !asserts);
    assert.deepEqual(
      empty.map(({ file, line, title }) => `${file}:${line} ${title}`),
      [],
    );
  });

  test('every id that a test or a comment cites is a rule', () => {
    const cited = [
      ...tests.map(({ file, line, ids }) => ({ file, line, ids })),
      ...comments.map(({ file, line, text }) => ({ file, line, ids: idsIn(text) })),
    ];
    const unknown = cited.flatMap(({ file, line, ids }) =>
      ids.filter((id) => prefixes.has(id.split('-')[0]) && !rules.has(id)).map((id) => `${file}:${line} ${id}`),
    );
    assert.deepEqual(unknown, []);
  });

  test('no comment and no title cites a document outside the repository', () => {
    const texts = [...comments, ...tests.map(({ file, line, title }) => ({ file, line, text: title }))];
    const outside = texts.filter(({ text }) => pointsOutside(text));
    assert.deepEqual(
      outside.map(({ file, line, text }) => `${file}:${line} ${text.trim().slice(0, 80)}`),
      [],
    );
  });
});

suite('what counts as a test of a rule', () => {
  const sources: Record<string, string> = {
    'test/a.test.ts': `
      import { check } from './support/citations.ts';
      test('XX-001: named only', () => { run(); });
      test('XX-002: asserts', async () => { await run(); assert.equal(1, 1); });
      test('through a function of the file, XX-003', () => holds());
      // XX-004: above the test
      test(\`a template \${1}\`, { timeout: 5 }, async (t) => { for (const x of []) t.assert.ok(x); });
      test.skip('XX-005: never runs', () => assert.ok(true));
      test('XX-006: without a callback');
      test('XX-007: a function that calls itself', () => loops());
      test('XX-008: a function by name', holds);
      test('XX-009: says assert without calling it', () => { const assert = 'assert.ok(1)'; });
      function holds() { inner(); }
      const inner = () => { assert.ok(true); };
      function loops() { loops(); }
    `,
  };
  const found = createCitations((file) => sources[file] ?? '').testsOf('test/a.test.ts');
  const asserting = new Map(found.flatMap(({ ids, asserts }) => ids.map((id) => [id, asserts])));

  for (const [id, expected] of Object.entries({
    'XX-001': false,
    'XX-002': true,
    'XX-003': true,
    'XX-004': true,
    'XX-005': undefined,
    'XX-006': false,
    'XX-007': false,
    'XX-008': true,
    'XX-009': false,
  })) {
    test(`${id} of the example: ${expected ?? 'no test'}`, () => assert.equal(asserting.get(id), expected));
  }
});

function isCiting(ids: readonly string[]): boolean {
  return ids.some((id) => rules.has(id));
}

/** Notes of the authors that a reader of the repository does not have. Standards (RFC, MCP) are public. */
const outsideDocuments = [
  /\b(?:CONTRACT|MCP|PEERS|COMPONENTS|STYLE)\.md\b/,
  /\b(?:seed|contract|research) 00\d\b/i,
  /\b(?:the|our) (?:seeds|contract)\b/i,
  /^['"`]00\d\b/,
  /§/,
  /\b(?:issue|defect|disagreement) #?\d/i,
  /\bpart \d/i,
];

function pointsOutside(text: string): boolean {
  return outsideDocuments.some((document) => document.test(text));
}
