/** A server's record is a frozen value that is replaced: what holds one reads the same in it for ever. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { createChanges } from '../../src/changes.ts';
import { loadConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/log.ts';
import { createRegistry, type Registry, type Server } from '../../src/registry/registry.ts';
import { createVault } from '../../src/security/credentials.ts';
import { openTestDatabase } from '../store/store.ts';

async function openRegistry(t: TestContext): Promise<{ registry: Registry; id: string }> {
  const registry = await createRegistry({
    db: await openTestDatabase(t),
    vault: createVault({ current: randomBytes(32) }),
    changes: createChanges(),
    log: createLog('silent'),
    config: loadConfig({}),
  });
  const { id } = await registry.register({
    name: 'any',
    transport_type: 'HTTP',
    connection_config: { base_url: 'http://localhost:1/mcp' },
    options: { query_tools: [{ tool: 'find', arguments: {} }] } as never,
  });
  return { registry, id };
}

const identity = {
  era: 'legacy' as const,
  protocolVersion: '2025-11-25',
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: 'any', icons: [{ src: 'data:,' }] },
};

const steps: Record<string, (registry: Registry, id: string) => unknown> = {
  apply: (registry, id) => registry.apply(id, 'connect'),
  recordIdentity: (registry, id) => registry.recordIdentity(id, identity),
  recordVerdict: (registry, id) => registry.recordVerdict(id, { era: 'legacy', checkedAt: '2026-01-01T00:00:00Z' }),
  recordAsked: (registry, id) => registry.recordAsked(id, 'roots/list', { atStart: true }),
  recordStateful: (registry, id) => registry.recordStateful(id, 'open_page mentions "current page"'),
  recordSession: (registry, id) => registry.recordSession(id, 'parked'),
  recordDiscovered: (registry, id) => registry.recordDiscovered(id),
  recordLogin: (registry, id) => registry.recordLogin(id, 'required'),
  recordHealth: (registry, id) => registry.recordHealth(id, '2026-01-01T00:00:00Z'),
  recordToolCount: (registry, id) => registry.recordToolCount(id, 7),
  recordOtherReplicas: (registry, id) =>
    registry.recordOtherReplicas(new Map([[id, [{ id: 'other', status: 'CONNECTED' as const, error: null }]]])),
  setDesired: (registry, id) => registry.setDesired(id, 'disconnected'),
  update: (registry, id) => registry.update(id, { description: 'changed', options: { request_timeout: 5 } }),
};

for (const [name, step] of Object.entries(steps)) {
  test(`${name} replaces the frozen record of a server and leaves the one before as it was`, async (t) => {
    const { registry, id } = await openRegistry(t);
    const before = registry.get(id);
    const text = JSON.stringify(before);
    const { version } = registry;
    await step(registry, id);
    const after = registry.get(id);
    assert.notEqual(after, before);
    assert.notDeepEqual(after, before);
    assert.equal(JSON.stringify(before), text);
    assert.notEqual(registry.version, version);
    assertFrozen(before, 'before');
    assertFrozen(after, 'after');
    await registry.settled();
  });
}

test('a record that another replica changed is replaced as well', async (t) => {
  const db = await openTestDatabase(t);
  const shared = {
    db,
    vault: createVault({ current: randomBytes(32) }),
    log: createLog('silent'),
    config: loadConfig({}),
  };
  const open = () => createRegistry({ ...shared, changes: createChanges() });
  const one = await open();
  const { id } = await one.register({ name: 'any', transport_type: 'STDIO', connection_config: { command: 'true' } });
  const other = await open();
  const before = other.get(id);
  await one.update(id, { description: 'changed' });
  const [taken] = await other.takeChanges(id);
  assert.equal(before.description, null);
  assert.equal(other.get(id).description, 'changed');
  assert.equal(taken?.server, other.get(id));
  assertFrozen(other.get(id), 'taken');
});

test('a server that nests its capabilities as deep as it likes is recorded all the same', async (t) => {
  const { registry, id } = await openRegistry(t);
  const depth = 5_000;
  const capabilities = JSON.parse(`{"experimental":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`);
  registry.recordIdentity(id, { ...identity, capabilities });
  let inner: unknown = registry.get(id).capabilities;
  for (; typeof inner === 'object' && inner !== null; inner = Object.values(inner)[0])
    assert.ok(Object.isFrozen(inner));
  assert.equal(inner, 1);
  await registry.settled();
});

function assertFrozen(value: Server | unknown, path: string): void {
  if (typeof value !== 'object' || value === null) return;
  assert.ok(Object.isFrozen(value), `${path} is frozen`);
  for (const [key, inner] of Object.entries(value)) assertFrozen(inner, `${path}.${key}`);
}

test('SEC-003: the secrets of an earlier connection are masked as well', async (t) => {
  let current = 'first-secret-of-the-command';
  const registry = await createRegistry({
    db: await openTestDatabase(t),
    vault: createVault({ current: randomBytes(32) }),
    changes: createChanges(),
    log: createLog('silent'),
    config: loadConfig({}),
    secretSources: { keychain: async () => undefined, command: async () => current },
  });
  const { id } = await registry.register(
    { name: 'any', transport_type: 'STDIO', connection_config: { command: 'x', env: { A: '${command:op}' } } },
    { from: 'local' },
  );
  const before = await registry.resolveConnection(id);
  current = 'another-secret-of-the-command';
  const after = await registry.resolveConnection(id);
  const said = 'first-secret-of-the-command another-secret-of-the-command';
  for (const text of [before.mask(said), after.mask(said), registry.mask(id, said)]) assert.equal(text, '*** ***');
});
