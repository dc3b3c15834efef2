/** The classifier follows the catalog's topics and publishes what it found; it needs no search index. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, type TestContext, test } from 'node:test';
import { createSnapshot } from '../../src/catalog/snapshot.ts';
import { type Changes, createChanges } from '../../src/changes.ts';
import { loadConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/log.ts';
import { createRegistry } from '../../src/registry/registry.ts';
import { loadStaticEmbedder } from '../../src/search/embed.ts';
import { createVault } from '../../src/security/credentials.ts';
import { createSkillStore } from '../../src/skills/skill-store.ts';
import { createToolClassifier } from '../../src/skills/tool-classifier.ts';
import type { Database } from '../../src/store/database.ts';
import type { ToolRow } from '../../src/store/schema.ts';
import { findTools, replaceServerTools } from '../../src/store/tools.ts';
import { newTool, openTestDatabase } from '../store/store.ts';

const embedder = loadStaticEmbedder();
const limits = { maxPerServer: 100, maxTotal: 100 };
const log = createLog('silent');
const noItems = { prompt: [], resource: [], resource_template: [], skill: [] };
const noChanges = { added: [], changed: [], removed: [], unchanged: [] };

async function open(t: TestContext, isOurs?: (serverId: string) => boolean) {
  const db = await openTestDatabase(t);
  const changes = createChanges();
  const vault = createVault({ current: randomBytes(32) });
  const registry = await createRegistry({ db, changes, vault, log, config: loadConfig({}) });
  const connection_config = { command: 'true' };
  const server = await registry.register({ name: 'git', transport_type: 'STDIO', connection_config });
  const offered = [newTool('git', 'create_pull_request', 'Create a pull request in a repository')];
  await replaceServerTools(db, server.id, offered, limits);
  const start = async () => {
    const rows = await findTools(db);
    const classifier = createToolClassifier({
      db,
      changes,
      log,
      catalog: { snapshot: createSnapshot([server], () => ({ tools: rows, items: noItems })) },
      skillStore: await createSkillStore({ db, changes }),
      findServer: registry.find,
      embed: embedder.embedText,
      isOurs,
    });
    t.after(() => classifier.close());
    return { classifier, rows };
  };
  return { db, changes, registry, server, start };
}

const nextOf = (changes: Changes): Promise<readonly ToolRow[]> =>
  new Promise((resolve) => changes.subscribe('tools.classified', ({ tools }) => resolve(tools)));

const stored = async (db: Database) => (await findTools(db)).map(({ classification_state }) => classification_state);

suite('the classifier', () => {
  test('EC-009: classifies at its start what is not classified, stores it and publishes it', async (t) => {
    const { db, changes, server, start } = await open(t);
    const told: string[] = [];
    changes.subscribe('tools.stored', ({ server_id }) => told.push(server_id));
    const published = nextOf(changes);
    const { classifier } = await start();
    assert.equal(classifier.backlog, 1);
    const [tool] = await published;
    assert.equal(tool?.primary_skill_id, 'code_management');
    assert.equal(tool?.classification_state, 'CLASSIFIED');
    assert.deepEqual(await stored(db), ['CLASSIFIED']);
    assert.deepEqual(told, [server.id]);
    assert.equal(classifier.backlog, 0);
  });

  test('BR-004: classifies what a discovery found', async (t) => {
    let isOurs = false;
    const { changes, server, start } = await open(t, () => isOurs);
    const { classifier, rows } = await start();
    assert.equal(classifier.backlog, 0);
    isOurs = true;
    const published = nextOf(changes);
    changes.publish('tools.discovered', { server, toolChanges: { ...noChanges, added: rows } });
    assert.deepEqual(
      (await published).map(({ name }) => name),
      ['git.create_pull_request'],
    );
  });

  test('leaves to another replica what that one leads, until it leads itself', async (t) => {
    const { changes, server, start } = await open(t, () => false);
    const { classifier } = await start();
    assert.equal(classifier.backlog, 0);
    const published = nextOf(changes);
    changes.publish('lease.gained', { server_id: server.id });
    assert.equal((await published).length, 1);
  });

  test('classifies everything again when the skills changed', async (t) => {
    const { changes, start } = await open(t);
    const first = nextOf(changes);
    await start();
    await first;
    const second = nextOf(changes);
    changes.publish('skills.changed', { reloaded: false });
    assert.equal((await second).length, 1);
  });

  test('SKL-002: classifies the tools of a server again when it is described otherwise', async (t) => {
    const { changes, registry, server, start } = await open(t);
    const first = nextOf(changes);
    const { classifier } = await start();
    await first;
    await registry.update(server.id, { health_check_url: 'http://127.0.0.1:1/' });
    assert.equal(classifier.backlog, 0);
    const second = nextOf(changes);
    await registry.update(server.id, { description: 'Pull requests of the team' });
    assert.equal((await second).length, 1);
  });

  test('a tool that is removed before its skills are stored is forgotten', async (t) => {
    const { db, changes, server, start } = await open(t);
    let published = 0;
    changes.subscribe('tools.classified', () => published++);
    const { classifier } = await start();
    changes.publish('server.removed', { server_id: server.id, name: server.name });
    assert.equal(classifier.backlog, 0);
    await classifier.close();
    assert.equal(published, 0);
    assert.deepEqual(await stored(db), ['DISCOVERED']);
  });
});
