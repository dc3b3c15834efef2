import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromCanonical, toCanonical, toWireName, wireNameLimit } from '../../src/catalog/tool-name.ts';

test('BR-003: canonical names are server, dot, tool', () => {
  assert.equal(toCanonical('github-mcp', 'create_issue'), 'github-mcp.create_issue');
});

test('EC-002: only the first dot separates', () => {
  assert.deepEqual(fromCanonical('server-a.api.v2.create'), { server: 'server-a', tool: 'api.v2.create' });
  for (const name of ['plain', '.x', 'x.', '.', '']) assert.equal(fromCanonical(name), undefined);
});

test('wire names are what clients accept, for every server and tool name', () => {
  const servers = ['a', 'a-b', 'a__b', 'a_', 'x'.repeat(255), 's'.repeat(40)];
  const tools = ['t', '_t', 'a.b', 'ü', 'with space', '日本語', '', 't'.repeat(300), 'a__b', '-', '/etc/passwd', '🙂'];
  const seen = new Map<string, string>();
  for (const server of servers) {
    for (const tool of tools) {
      const wire = toWireName(server, tool);
      assert.match(wire, /^[A-Za-z0-9_-]+$/);
      assert.ok(wire.length <= wireNameLimit, wire);
      assert.equal(seen.get(wire), undefined, `${server}.${tool} and ${seen.get(wire)} are both ${wire}`);
      seen.set(wire, `${server}.${tool}`);
      assert.equal(toWireName(server, tool), wire);
    }
  }
});

test('names that could be read two ways do not meet', () => {
  const pairs = [
    ['a', '_b'],
    ['a_', 'b'],
    ['a__b', 'c'],
    ['a', 'b__c'],
    ['a', '__b'],
  ] as const;
  const wires = pairs.map(([server, tool]) => toWireName(server, tool));
  assert.equal(new Set(wires).size, pairs.length, wires.join(' '));
});

test('ten thousand long names have ten thousand wire names', () => {
  const server = 'a-server-with-quite-a-long-name-for-a-server';
  const wires = new Set(
    Array.from({ length: 10_000 }, (_, number) => toWireName(server, `some_long_tool_name_${number}`)),
  );
  assert.equal(wires.size, 10_000);
});
