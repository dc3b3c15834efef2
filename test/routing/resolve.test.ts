import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CatalogTool, Snapshot } from '../../src/catalog/catalog.ts';
import { markedParameters, parameterHeaders } from '../../src/catalog/parameter-headers.ts';
import { toCanonical, toWireName } from '../../src/catalog/tool-name.ts';
import { AppError } from '../../src/errors.ts';
import { resolveTool } from '../../src/routing/resolve.ts';

/** Only the names matter for finding a tool; one that begins with "!" is disabled. */
function snapshotOf(names: Record<string, string[]>): Snapshot {
  const every = Object.entries(names).flatMap(([server, own]) =>
    own.map((given) => {
      const name = given.replace('!', '');
      const row = { name: toCanonical(server, name), original_name: name };
      const wireName = toWireName(server, name);
      return { row, server: { id: `id-${server}`, name: server }, wireName, ownName: name, enabled: given === name };
    }),
  ) as unknown as CatalogTool[];
  const tools = every.filter(({ enabled }) => enabled);
  const disabled = every.filter(({ enabled }) => !enabled);
  const group = (key: (tool: CatalogTool) => string, from = tools) => Map.groupBy(from, key);
  return {
    tools,
    toolsByWireName: new Map(tools.map((tool) => [tool.wireName, tool])),
    toolsByCanonicalName: new Map(tools.map((tool) => [tool.row.name, tool])),
    toolsByOriginalName: group((tool) => tool.row.original_name),
    toolsByServer: group((tool) => tool.server.id),
    serversByName: new Map(tools.map(({ server }) => [server.name, server])),
    items: { prompt: [], resource: [], resource_template: [], skill: [] },
    promptsByName: new Map(),
    everyToolByServer: group((tool) => tool.server.id, every),
    disabledTools: new Map(disabled.flatMap((tool) => [tool.wireName, tool.row.name].map((name) => [name, tool]))),
  };
}

const snapshot = snapshotOf({ a: ['x', 'only', 'b.x'], b: ['x', 'y.z'], c: ['y.z'] });
const everything = () => true;

function find(name: string, sees: (server: { name: string }) => boolean = everything): string {
  try {
    const { tool, strategy } = resolveTool(snapshot, {
      name,
      view: { server: () => true, tool: ({ server }) => sees(server) },
    });
    return `${tool.row.name} ${strategy}`;
  } catch (error) {
    assert.ok(error instanceof AppError);
    return error.code;
  }
}

test('BR-005: wire name, canonical name, bare name, in this order', () => {
  assert.equal(find('a__x'), 'a.x wire_name');
  assert.equal(find('a.x'), 'a.x namespace_resolved');
  assert.equal(find('only'), 'a.only lookup_resolved');
  assert.equal(find('nothing'), 'TOOL_NOT_FOUND');
  assert.equal(find(''), 'TOOL_NOT_FOUND');
});

test('EC-002: dots after the first belong to the tool', () => {
  assert.equal(find('b.y.z'), 'b.y.z namespace_resolved');
  assert.equal(find('b.x'), 'b.x namespace_resolved');
  assert.equal(find('a.b.x'), 'a.b.x namespace_resolved');
});

test('BR-009: a bare name that several servers have is ambiguous, among those that are visible', () => {
  assert.equal(find('x'), 'TOOL_AMBIGUOUS');
  assert.equal(find('y.z'), 'TOOL_AMBIGUOUS');
  assert.equal(
    find('x', ({ name }) => name === 'b'),
    'b.x lookup_resolved',
  );
  assert.equal(
    find('a.x', ({ name }) => name === 'b'),
    'TOOL_NOT_FOUND',
  );
});

test('marked parameters travel as headers, nested ones too; an invalid mark spoils the tool', () => {
  const schema = {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      deep: { type: 'object', properties: { count: { type: 'integer', 'x-mcp-header': 'Count' } } },
      plain: { type: 'string' },
    },
  };
  assert.deepEqual(parameterHeaders(schema, { region: 'eu', deep: { count: 3 }, plain: 'x' }), {
    'mcp-param-region': 'eu',
    'mcp-param-count': '3',
  });
  assert.deepEqual(parameterHeaders(schema, { region: 'ü' }), { 'mcp-param-region': '=?base64?w7w=?=' });
  assert.equal(parameterHeaders({ type: 'object' }, {}), undefined);
  const twice = { type: 'object', properties: { a: schema.properties.region, b: schema.properties.region } };
  assert.equal(markedParameters(twice), undefined);
  const spaced = { type: 'object', properties: { a: { type: 'string', 'x-mcp-header': 'a b' } } };
  assert.equal(markedParameters(spaced), undefined);
});
