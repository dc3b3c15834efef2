import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../../src/exact-json.ts';
import type { JsonObject } from '../../src/json-rpc.ts';
import { findServer } from '../../src/store/servers.ts';
import {
  definitionHash,
  findServerTools,
  findTools,
  replaceServerTools,
  updateClassificationState,
  updateToolSkills,
} from '../../src/store/tools.ts';
import { findVectors, upsertVectors } from '../../src/store/vectors.ts';
import { addServer, newTool, newTools, openTestDatabase, roomyLimits } from './store.ts';

test('BR-003: tools are stored with their namespaced and original names and counted', async (t) => {
  const db = await openTestDatabase(t);
  const id = await addServer(db, 'github-mcp');
  const { added } = await replaceServerTools(db, id, [newTool('github-mcp', 'create_issue')], roomyLimits);
  assert.equal(added.length, 1);
  const [tool] = await findTools(db);
  assert.deepEqual(tool, added[0]);
  assert.equal(typeof tool?.id, 'number');
  assert.equal(tool?.name, 'github-mcp.create_issue');
  assert.equal(tool?.original_name, 'create_issue');
  assert.equal(tool?.source_server_id, id);
  assert.equal(tool?.is_external, true);
  assert.equal(tool?.is_classified, false);
  assert.equal(tool?.classification_state, 'DISCOVERED');
  assert.equal(JSON.stringify(tool?.definition), JSON.stringify(newTool('github-mcp', 'create_issue').definition));
  assert.equal((await findServer(db, id))?.tool_count, 1);
});

test('BR-003: an empty list sets tool_count to 0; a name listed twice is one tool with the later definition', async (t) => {
  const db = await openTestDatabase(t);
  const id = await addServer(db, 's');
  const twice = [newTool('s', 'a', 'first'), newTool('s', 'b'), newTool('s', 'a', 'second')];
  await replaceServerTools(db, id, twice, roomyLimits);
  assert.deepEqual(
    (await findTools(db)).map((tool) => tool.description),
    ['second', 'Does b'],
  );
  assert.equal((await findServer(db, id))?.tool_count, 2);
  const { removed } = await replaceServerTools(db, id, [], roomyLimits);
  assert.equal(removed.length, 2);
  assert.equal((await findServer(db, id))?.tool_count, 0);
});

test('a refresh tells added, changed, removed and unchanged apart and keeps ids and classification', async (t) => {
  const db = await openTestDatabase(t);
  const id = await addServer(db, 's');
  await replaceServerTools(db, id, [newTool('s', 'keep'), newTool('s', 'change'), newTool('s', 'drop')], roomyLimits);
  const before = new Map((await findTools(db)).map((tool) => [tool.original_name, tool]));
  const skills = { skill_ids: ['files', 'web'], primary_skill_id: 'web', skill_confidences: { web: 0.9, files: 0.6 } };
  await updateToolSkills(
    db,
    [...before.values()].map((tool) => ({ id: tool.id, ...skills })),
  );

  const listed = [newTool('s', 'new'), newTool('s', 'change', 'Other words'), newTool('s', 'keep')];
  const changes = await replaceServerTools(db, id, listed, roomyLimits);
  assert.deepEqual(
    changes.added.map((tool) => tool.original_name),
    ['new'],
  );
  assert.deepEqual(
    changes.removed.map((tool) => tool.original_name),
    ['drop'],
  );
  assert.deepEqual(
    changes.changed.map(({ before, after }) => [before.description, after.description]),
    [['Does change', 'Other words']],
  );
  const [kept] = changes.unchanged;
  assert.equal(kept?.id, before.get('keep')?.id);
  assert.equal(kept?.position, 2);
  assert.equal(kept?.is_classified, true);
  assert.deepEqual(kept?.skill_confidences, skills.skill_confidences);
  const after = changes.changed[0]?.after;
  assert.equal(after?.id, before.get('change')?.id);
  assert.equal(after?.is_classified, false);
  assert.deepEqual(after?.skill_ids, []);
  assert.equal(after?.classification_state, 'DISCOVERED');
  assert.deepEqual(await findServerTools(db, id), [after, kept, changes.added[0]]);

  const again = await replaceServerTools(db, id, listed, roomyLimits);
  assert.deepEqual([again.added, again.changed, again.removed, again.unchanged.length], [[], [], [], 3]);
});

test('BR-009: servers may have tools of one name', async (t) => {
  const db = await openTestDatabase(t);
  for (const name of ['b-server', 'a-server']) {
    await replaceServerTools(db, await addServer(db, name), [newTool(name, 'search_tool')], roomyLimits);
  }
  assert.deepEqual(
    (await findTools(db)).map((tool) => tool.name),
    ['a-server.search_tool', 'b-server.search_tool'],
  );
});

test('limits of tools per server and in all leave what was stored', async (t) => {
  const db = await openTestDatabase(t);
  const first = await addServer(db, 'first');
  const second = await addServer(db, 'second');
  const limits = { maxPerServer: 5, maxTotal: 8 };
  await replaceServerTools(db, first, newTools('first', 5), limits);
  const { unchanged, removed } = await replaceServerTools(db, first, newTools('first', 6), limits);
  assert.deepEqual([unchanged.length, removed], [5, []], 'the first of a server');
  await assert.rejects(replaceServerTools(db, second, newTools('second', 4), limits), {
    code: 'TOOL_LIMIT_REACHED',
    message: 'Tool limit reached: 8 tools in total, this server would increase the number to 9',
  });
  await replaceServerTools(db, second, newTools('second', 3), limits);
  await replaceServerTools(db, first, newTools('first', 5), limits);
  assert.equal((await findTools(db)).length, 8);
  assert.equal((await findServer(db, second))?.tool_count, 3);
  await assert.rejects(replaceServerTools(db, 'nobody', [], limits), { code: 'SERVER_NOT_FOUND' });
});

test('two refreshes of one server at the same time leave one whole list', async (t) => {
  const db = await openTestDatabase(t);
  const id = await addServer(db, 's');
  await Promise.all([
    replaceServerTools(db, id, newTools('s', 150), roomyLimits),
    replaceServerTools(db, id, newTools('s', 120), roomyLimits),
  ]);
  const count = (await findTools(db)).length;
  assert.ok(count === 120 || count === 150);
  assert.equal((await findServer(db, id))?.tool_count, count);
});

test('EC-006: 1,000 tools of one server are stored, and stored again in another order', async (t) => {
  const db = await openTestDatabase(t);
  const id = await addServer(db, 'large');
  const started = performance.now();
  const { added } = await replaceServerTools(db, id, newTools('large', 1_000), roomyLimits);
  const inserted = performance.now();
  await replaceServerTools(db, id, newTools('large', 1_000).toReversed(), roomyLimits);
  const moved = performance.now();
  t.diagnostic(`${db.engine}: insert ${Math.round(inserted - started)} ms, reorder ${Math.round(moved - inserted)} ms`);
  assert.equal(added.length, 1_000);
});

test('10,000 stored tools are loaded', async (t) => {
  const db = await openTestDatabase(t);
  for (let server = 0; server < 10; server++) {
    const id = await addServer(db, `s${server}`);
    await replaceServerTools(db, id, newTools(`s${server}`, 1_000), roomyLimits);
  }
  const started = performance.now();
  const tools = await findTools(db);
  const took = performance.now() - started;
  t.diagnostic(`${db.engine}: ${Math.round(took)} ms`);
  assert.equal(tools.length, 10_000);
});

test('EC-009: a failed classification leaves tools unclassified; a new attempt keeps the skills until it ends', async (t) => {
  const db = await openTestDatabase(t);
  const id = await addServer(db, 's');
  const { added } = await replaceServerTools(db, id, newTools('s', 2), roomyLimits);
  const ids = added.map((tool) => tool.id);
  const skills = { skill_ids: ['web'], primary_skill_id: 'web', skill_confidences: { web: 0.8 } };
  await updateToolSkills(db, [{ id: ids[0] ?? 0, ...skills }]);
  await updateClassificationState(db, ids, 'CLASSIFYING');
  const states = async () => (await findTools(db)).map((tool) => [tool.classification_state, tool.is_classified]);
  assert.deepEqual(await states(), [
    ['CLASSIFYING', true],
    ['CLASSIFYING', false],
  ]);
  await updateClassificationState(db, ids, 'UNCLASSIFIED');
  assert.deepEqual(await states(), [
    ['UNCLASSIFIED', false],
    ['UNCLASSIFIED', false],
  ]);
});

test('a definition is the same whatever the order of its keys', () => {
  const hash = definitionHash({ name: 'x', inputSchema: { type: 'object', required: ['a', 'b'] } });
  assert.equal(definitionHash({ inputSchema: { required: ['a', 'b'], type: 'object' }, name: 'x' }), hash);
  assert.notEqual(definitionHash({ name: 'x', inputSchema: { type: 'object', required: ['b', 'a'] } }), hash);
});

test('numbers of any length in a definition are kept as they were written', async (t) => {
  const db = await openTestDatabase(t);
  const id = await addServer(db, 's');
  const definition = parseJson('{"name":"x","inputSchema":{"maximum":18446744073709551615}}') as JsonObject;
  const offered = { ...newTool('s', 'x'), definition, definition_hash: definitionHash(definition) };
  await replaceServerTools(db, id, [offered], roomyLimits);
  const [stored] = await findTools(db);
  assert.equal(JSON.stringify(stored?.definition), JSON.stringify(definition));
  assert.equal(definitionHash(stored?.definition ?? {}), offered.definition_hash);
  const other = parseJson('{"name":"x","inputSchema":{"maximum":18446744073709551614}}') as JsonObject;
  assert.notEqual(definitionHash(other), offered.definition_hash);
});

test('vectors are kept per tool and model and go with the tool', async (t) => {
  const db = await openTestDatabase(t);
  const id = await addServer(db, 's');
  const { added } = await replaceServerTools(db, id, newTools('s', 2), roomyLimits);
  const row = (tool_id: number, byte: number) => ({
    tool_id,
    model: 'm',
    content_hash: 'h',
    vector: new Uint8Array([byte, 255, 0]),
  });
  const ids = added.map((tool) => tool.id);
  await upsertVectors(db, [...ids.map((id) => row(id, 1)), row(999_999, 1)]);
  await upsertVectors(db, [row(ids[0] ?? 0, 2)]);
  const found = await findVectors(db, 'm');
  assert.deepEqual(
    found.map((vector) => [vector.tool_id, ...vector.vector]),
    [
      [ids[0], 2, 255, 0],
      [ids[1], 1, 255, 0],
    ],
  );
  await replaceServerTools(db, id, [], roomyLimits);
  assert.deepEqual(await findVectors(db, 'm'), []);
});
