/** What clients are promised, by what the servers of their scope declare. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { JsonObject } from '../../src/json-rpc.ts';
import { capabilitiesOf } from '../../src/mcp/capabilities.ts';
import type { Peer } from '../../src/mcp/peer.ts';
import type { Server } from '../../src/registry/registry.ts';

const tasks = 'io.modelcontextprotocol/tasks';
const skills = 'io.modelcontextprotocol/skills';
const ui = 'io.modelcontextprotocol/ui';
const lists = { tools: { listChanged: true }, prompts: { listChanged: true }, completions: {}, logging: {} };
const resources = (subscribe: boolean) => ({ resources: { subscribe, listChanged: true } });
const server = (capabilities: JsonObject | null) => ({ capabilities }) as Server;

suite('of all servers together', () => {
  const rows: [title: string, era: Peer['era'], servers: (JsonObject | null)[], expected: JsonObject][] = [
    ['no server', 'legacy', [], { ...lists, ...resources(false) }],
    ['no server declares anything', 'legacy', [null, {}], { ...lists, ...resources(false) }],
    ['one server can subscribe', 'legacy', [{}, { resources: { subscribe: true } }], { ...lists, ...resources(true) }],
    [
      'tasks are promised to clients of 2026-07-28, whatever the servers can do',
      'modern',
      [{}],
      { ...lists, ...resources(false), extensions: { [tasks]: {} } },
    ],
    [
      'tasks of a server are not promised to clients of older revisions',
      'legacy',
      [{ extensions: { [tasks]: {} } }],
      { ...lists, ...resources(false) },
    ],
    [
      'where two servers describe an extension, the first description holds',
      'legacy',
      [{ extensions: { [ui]: { first: true } } }, { extensions: { [ui]: { first: false } } }],
      { ...lists, ...resources(false), extensions: { [ui]: { first: true } } },
    ],
    [
      'directories of skills can be read if one server can',
      'legacy',
      [{ extensions: { [skills]: {} } }, { extensions: { [skills]: { directoryRead: true } } }],
      { ...lists, ...resources(false), extensions: { [skills]: { directoryRead: true } } },
    ],
  ];
  for (const [title, era, servers, expected] of rows) {
    test(title, () => assert.deepEqual(capabilitiesOf({ single: undefined }, servers.map(server), era), expected));
  }
});

suite('of one server on its own endpoint', () => {
  const rows: [title: string, era: Peer['era'], own: JsonObject | null, expected: JsonObject][] = [
    ['nothing that it does not declare', 'legacy', null, {}],
    ['what it declares, with our lists', 'legacy', { tools: {}, logging: {} }, { tools: lists.tools, logging: {} }],
    ['what it experiments with', 'legacy', { experimental: { x: 1 } }, { experimental: { x: 1 } }],
    ['no tasks that it does not have', 'modern', { extensions: { [ui]: {} } }, { extensions: { [ui]: {} } }],
    ['its tasks', 'modern', { extensions: { [tasks]: { list: {} } } }, { extensions: { [tasks]: { list: {} } } }],
  ];
  for (const [title, era, own, expected] of rows) {
    const single = server(own);
    test(title, () => assert.deepEqual(capabilitiesOf({ single }, [single], era), expected));
  }
});
