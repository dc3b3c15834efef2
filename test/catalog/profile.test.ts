import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CatalogTool } from '../../src/catalog/catalog.ts';
import { selectsServer, selectTool } from '../../src/catalog/profile.ts';

/** Only the names matter. */
const tool = (server: string, name: string) =>
  ({ row: { name: `${server}.${name}` }, server: { name: server } }) as unknown as CatalogTool;

const has = (pattern: string, server: string, name: string) =>
  selectTool({ tools: [{ name: pattern }] }, tool(server, name)) !== undefined;

test('a star stands for any characters, none included', () => {
  for (const pattern of ['git.read_file', 'git.*', '*.read_file', 'git.read*', '*', 'git.*_*', 'g*t.r*d_f*e', '**'])
    assert.ok(has(pattern, 'git', 'read_file'), pattern);
  for (const pattern of [
    'git.read',
    'hub.*',
    '*.write',
    'git.read_file*x',
    'git.r*x*e',
    'git.read_*_file',
    'git.*le_file',
  ])
    assert.ok(!has(pattern, 'git', 'read_file'), pattern);
});

test('everything else stands for itself', () => {
  assert.ok(!has('git.read.file', 'git', 'read_file'));
  assert.ok(has('git.(read|write)+', 'git', '(read|write)+'));
});

test('a pattern that is made to take for ever does not', () => {
  assert.ok(!has(`${'*a'.repeat(40)}!`, 'server', 'a'.repeat(1_000)));
});

test('a profile selects the servers that it names, or those of its tools', () => {
  assert.ok(selectsServer({}, 'any'));
  assert.ok(selectsServer({ tools: [{ name: 'g*.read' }] }, 'git'));
  assert.ok(!selectsServer({ tools: [{ name: 'g*.read' }] }, 'files'));
  assert.ok(!selectsServer({ servers: ['git'], tools: [{ name: 'files.*' }] }, 'files'));
});
