/** A snapshot of the catalog does not change under its reader. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { type TestContext, test } from 'node:test';
import { createCatalog } from '../../src/catalog/catalog.ts';
import { createSnapshot } from '../../src/catalog/snapshot.ts';
import { createChanges } from '../../src/changes.ts';
import { loadConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/log.ts';
import { createRegistry, type Server } from '../../src/registry/registry.ts';
import { createVault } from '../../src/security/credentials.ts';
import { replaceServerItems } from '../../src/store/server-items.ts';
import { replaceServerTools } from '../../src/store/tools.ts';
import { createOrphanReaper } from '../../src/upstream/orphan-reaper.ts';
import { createPool } from '../../src/upstream/pool.ts';
import { createStrays } from '../../src/upstream/strays.ts';
import { newTool, openTestDatabase } from '../store/store.ts';

const limits = { maxPerServer: 100, maxTotal: 100 };

async function openCatalog(t: TestContext, names: string[]) {
  const db = await openTestDatabase(t);
  const log = createLog('silent');
  const shared = { db, log, changes: createChanges(), config: loadConfig({}) };
  const registry = await createRegistry({ ...shared, vault: createVault({ current: randomBytes(32) }) });
  for (const name of names) {
    const connection_config = { command: 'true' };
    const { id } = await registry.register({ name, transport_type: 'STDIO', connection_config });
    await replaceServerTools(db, id, [newTool(name, 'read'), newTool(name, 'write')], limits);
    await replaceServerItems(db, id, 'prompt', [{ key: 'greet', definition: { name: 'greet' } }]);
  }
  const orphanReaper = createOrphanReaper(createStrays(tmpdir()));
  const pool = createPool({ ...shared, registry, orphanReaper, childEnvironment: () => ({}) });
  const catalog = await createCatalog({ ...shared, registry, pool });
  t.after(async () => {
    await catalog.close();
    await pool.close();
    await registry.settled();
  });
  return { registry, catalog };
}

test('a snapshot that was taken before a change of a server reads the old value, a new one the new value', async (t) => {
  const { registry, catalog } = await openCatalog(t, ['files', 'mail']);
  const before = catalog.snapshot;
  const { id } = registry.findByName('files') ?? assert.fail();
  registry.apply(id, 'connect');
  const after = catalog.snapshot;
  const seen = (snapshot: typeof before) => [
    snapshot.tools[0]?.server,
    snapshot.toolsByWireName.get('files__read')?.server,
    snapshot.toolsByCanonicalName.get('files.read')?.server,
    snapshot.toolsByOriginalName.get('read')?.[0]?.server,
    snapshot.toolsByServer.get(id)?.[1]?.server,
    snapshot.items.prompt[0]?.server,
    snapshot.promptsByName.get('files__greet')?.server,
  ];
  for (const server of seen(before)) assert.equal(server?.lifecycle.status, 'DISCONNECTED');
  for (const server of seen(after)) assert.equal(server, registry.get(id));
  assert.equal(registry.get(id).lifecycle.status, 'CONNECTING');
});

test('a change of one server leaves the tools of the others as they are, and no change leaves the snapshot', async (t) => {
  const { registry, catalog } = await openCatalog(t, ['files', 'mail']);
  const before = catalog.snapshot;
  assert.equal(catalog.snapshot, before);
  const { id } = registry.findByName('files') ?? assert.fail();
  registry.recordToolCount(id, 9);
  const after = catalog.snapshot;
  assert.equal(after.toolsByCanonicalName.get('mail.read'), before.toolsByCanonicalName.get('mail.read'));
  assert.notEqual(after.toolsByCanonicalName.get('files.read'), before.toolsByCanonicalName.get('files.read'));
  assert.deepEqual(
    after.tools.map(({ row, wireName }) => [row, wireName]),
    before.tools.map(({ row, wireName }) => [row, wireName]),
  );
});

test('a server that is gone stays in the snapshot that had it', async (t) => {
  const { registry, catalog } = await openCatalog(t, ['files', 'mail']);
  const before = catalog.snapshot;
  const { id } = registry.findByName('files') ?? assert.fail();
  await registry.remove(id);
  assert.equal(before.toolsByCanonicalName.get('files.read')?.server.name, 'files');
  assert.equal(catalog.snapshot.toolsByCanonicalName.get('files.read'), undefined);
  assert.deepEqual(
    catalog.snapshot.tools.map(({ row }) => row.name),
    ['mail.read', 'mail.write'],
  );
});

test('two tools whose wire names are equal get different ones, in the order of the servers', () => {
  const server = (id: string) => ({ id, name: 'a', tool_overrides: {} }) as Partial<Server> as Server;
  const tool = { name: 'a.x', original_name: 'x' } as never;
  const items = { prompt: [], resource: [], resource_template: [], skill: [] };
  const snapshot = createSnapshot([server('1'), server('2')], () => ({ tools: [tool], items }));
  assert.deepEqual(
    ['a__x', 'a__x_2', 'a__x_3'].map((name) => snapshot.toolsByWireName.get(name)?.server.id),
    ['1', '2', undefined],
  );
});
