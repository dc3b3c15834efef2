import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { compareOffered, offeredChanges, offerTool, passedArguments } from '../../src/catalog/offered-tool.ts';
import type { ToolOverrides } from '../../src/registry/tool-overrides.ts';
import { toolOverrides, withOverride } from '../../src/registry/tool-overrides.ts';
import type { ToolRow } from '../../src/store/schema.ts';

const schema = {
  type: 'object',
  properties: { repo: { type: 'string' }, title: { type: 'string' }, verbose: { type: 'boolean' } },
  required: ['repo', 'title'],
};

function row(original_name: string, id = 1): ToolRow {
  const definition = { name: original_name, description: 'Opens an issue.', inputSchema: schema };
  return {
    id,
    original_name,
    name: `git.${original_name}`,
    description: 'Opens an issue.',
    input_schema: schema,
    definition,
  } as Partial<ToolRow> as ToolRow;
}

suite('which tools are offered', () => {
  const cases: [name: string, overrides: ToolOverrides, enabled: boolean][] = [
    ['open', {}, true],
    ['open', { open: { enabled: false } }, false],
    ['open', { close: { enabled: false } }, true],
    ['open', { '*': { enabled: false } }, false],
    ['open', { '*': { enabled: false }, open: { enabled: true } }, true],
    ['open', { '*': { enabled: false }, open: { rename: 'x' } }, false],
    ['delete_repo', { 'delete_*': { enabled: false } }, false],
    ['delete_repo', { 'delete_*': { enabled: false }, 'delete_r*': { enabled: true } }, true],
    ['delete_repo', { 'delete_r*': { enabled: true }, 'delete_*': { enabled: false } }, true],
    ['constructor', {}, true],
    ['*', { '*': { enabled: false } }, false],
  ];
  for (const [name, overrides, enabled] of cases) {
    test(`${name} with ${JSON.stringify(overrides)}`, () =>
      assert.equal(offerTool(row(name), overrides).enabled, enabled));
  }
});

test('a tool about which nothing was decided is the same object', () => {
  const listed = row('open');
  assert.equal(offerTool(listed, { close: { rename: 'x' } }).row, listed);
  assert.equal(offerTool(listed, { open: { rename: 'x' } }).row, listed);
});

test('fixed and hidden arguments are not in the schema that clients see; the description is replaced', () => {
  const listed = row('open');
  const override = {
    description: 'Reports a bug.',
    fixed_arguments: { repo: 'acme/x' },
    hidden_arguments: ['verbose'],
  };
  const { row: offered } = offerTool(listed, { open: override });
  const shown = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] };
  assert.deepEqual(offered.input_schema, shown);
  assert.deepEqual(offered.definition, { name: 'open', description: 'Reports a bug.', inputSchema: shown });
  assert.equal(offered.description, 'Reports a bug.');
  assert.deepEqual(listed.input_schema, schema);
  assert.equal(offerTool(listed, { open: override }).row, offered);
});

suite('what a server gets', () => {
  const cases: [given: unknown, override: ToolOverrides[string], passed: unknown][] = [
    [{ title: 'a' }, {}, { title: 'a' }],
    [undefined, {}, undefined],
    [{ title: 'a' }, { fixed_arguments: { repo: 'acme/x' } }, { title: 'a', repo: 'acme/x' }],
    [{ repo: 'other' }, { fixed_arguments: { repo: 'acme/x' } }, { repo: 'acme/x' }],
    [undefined, { fixed_arguments: { repo: 'acme/x' } }, { repo: 'acme/x' }],
    [{ title: 'a', verbose: true }, { hidden_arguments: ['verbose'] }, { title: 'a' }],
    [{}, { fixed_arguments: { labels: ['a', null] } }, { labels: ['a', null] }],
  ];
  for (const [given, override, passed] of cases) {
    test(`${JSON.stringify(given)} with ${JSON.stringify(override)}`, () =>
      assert.deepEqual(passedArguments(given, override ?? {}), passed));
  }
});

test('a discovery tells of the tools that are offered, an admin of those that changed', () => {
  const [one, two, three] = [row('one', 1), row('two', 2), row('three', 3)];
  const changed = { before: one, after: { ...one, name: 'git.uno' } };
  const changes = offeredChanges(
    { added: [two, three], changed: [changed], removed: [], unchanged: [] },
    { two: { enabled: false } },
  );
  assert.deepEqual(changes, { added: [three], changed: [changed], removed: [], unchanged: [] });
  const compared = compareOffered([one, two], [{ ...two, name: 'git.zwei' }, three]);
  assert.deepEqual(
    [compared.added, compared.changed.map(({ after }) => after.name), compared.removed],
    [[three], ['git.zwei'], [one]],
  );
});

test('null takes a decision back, and a tool without decisions has no entry', () => {
  const some = withOverride({}, 'open', { enabled: false, rename: 'x' });
  assert.deepEqual(some, { open: { enabled: false, rename: 'x' } });
  assert.deepEqual(withOverride(some, 'open', { rename: null }), { open: { enabled: false } });
  assert.deepEqual(withOverride(some, 'open', { rename: null, enabled: null }), {});
});

test('a name with "*" can only enable and disable', () => {
  assert.equal(toolOverrides.safeParse({ 'a*': { enabled: false } }).success, true);
  const refused = toolOverrides.safeParse({ 'a*': { rename: 'x' } });
  assert.match(JSON.stringify(refused.error?.issues), /can only set enabled/);
});
