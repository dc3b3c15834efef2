/** Tests stand where their subject does: `test/<directory>` mirrors `src/<directory>`. */
import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..');
const directoriesOf = (path: string) =>
  new Set(
    globSync(`${path}/*/**/*.ts`, { cwd: root }).map((file) => relative(path, dirname(file)).replaceAll('\\', '/')),
  );

/** What is no unit of one directory; CONTRIBUTING.md says what each is for. */
const others = ['browser', 'chaos', 'conformance', 'journeys', 'platforms', 'support'];

test('every directory of tests is one of the sources, or one that CONTRIBUTING.md explains', () => {
  const sources = directoriesOf('src');
  const strange = [...directoriesOf('test')].filter(
    (name) => !sources.has(name) && !others.includes(name.split('/')[0] ?? ''),
  );
  assert.deepEqual(strange, []);
  const guide = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
  for (const name of others) assert.ok(guide.includes(`| \`test/${name}/\` |`), name);
});

test('every module has tests in its own directory', () => {
  const modules = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const bare = modules.filter(({ name }) => globSync(`test/${name}/**/*.test.ts`, { cwd: root }).length === 0);
  assert.deepEqual(
    bare.map(({ name }) => name),
    [],
  );
});

test('every file that is selected for PostgreSQL exists', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const patterns = [...scripts['test:postgres'].matchAll(/"([^"]+)"/g)].map(([, pattern]) => pattern);
  for (const pattern of patterns) {
    const [, before = '', names = '', after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(pattern) ?? [];
    const alternatives = names === '' ? [pattern] : names.split(',').map((name) => `${before}${name}${after}`);
    for (const one of alternatives) assert.notEqual(globSync(one, { cwd: root }).length, 0, one);
  }
});

test('every type name is declared in one file of the sources', () => {
  const files = new Map<string, string[]>();
  for (const file of globSync('src/**/*.ts', { cwd: root })) {
    const text = readFileSync(join(root, file), 'utf8');
    for (const [, name = ''] of text.matchAll(
      /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|enum) (\w+)/gm,
    )) {
      files.set(name, [...new Set([...(files.get(name) ?? []), file])]);
    }
  }
  assert.ok(files.size > 500, 'the expression finds declarations');
  assert.deepEqual(
    [...files].filter(([, places]) => places.length > 1),
    [],
  );
});
