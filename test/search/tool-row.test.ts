/** What search and Qdrant keep of a row of the catalog. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createChanges } from '../../src/changes.ts';
import { loadStaticEmbedder } from '../../src/search/embed.ts';
import { createSearchIndex } from '../../src/search/search-index.ts';
import { createSkillIndex } from '../../src/search/skill-index.ts';
import { hasSkills, isSearchable, toPoint, toSearchable } from '../../src/search/tool-row.ts';
import { createSkillStore } from '../../src/skills/skill-store.ts';
import type { ToolRow } from '../../src/store/schema.ts';
import { openTestDatabase } from '../store/store.ts';

const row = {
  id: 7,
  name: 'mail.send',
  original_name: 'send',
  title: null,
  description: null,
  input_schema: { type: 'object' },
  skill_ids: ['email'],
  primary_skill_id: 'email',
  is_external: true,
} as Partial<ToolRow> as ToolRow;
const tool = toSearchable(row, 'mail');

const statuses = { CONNECTED: true, DEGRADED: true, CONNECTING: false, DISCONNECTED: false, ERROR: false };
for (const [status, searchable] of Object.entries(statuses)) {
  test(`ST-002: the tools of a server that is ${status} are ${searchable ? '' : 'not '}found`, () => {
    assert.equal(isSearchable(status), searchable);
  });
}

const skills: { ids: string[]; primary: string | null; same: boolean }[] = [
  { ids: ['email'], primary: 'email', same: true },
  { ids: ['email'], primary: null, same: false },
  { ids: [], primary: null, same: false },
  { ids: ['email', 'files'], primary: 'email', same: false },
];
for (const { ids, primary, same } of skills) {
  test(`${JSON.stringify(ids)} with ${primary} are ${same ? 'the skills that the tool has' : 'other skills'}`, () => {
    assert.equal(hasSkills(tool, ids, primary), same);
  });
}

test('a tool without a title and a description is searchable, and a point of Qdrant says whose it is', () => {
  assert.equal(tool.title, undefined);
  assert.equal(tool.description, '');
  const { id, payload } = toPoint(tool, new Float32Array(2), 'id-mail', 'table');
  assert.equal(id, 7);
  const { source_server_id, source_server_name, is_classified, skill_ids, embedding_model } = payload;
  assert.deepEqual(
    { source_server_id, source_server_name, is_classified, skill_ids, embedding_model },
    {
      source_server_id: 'id-mail',
      source_server_name: 'mail',
      is_classified: true,
      skill_ids: ['email'],
      embedding_model: 'table',
    },
  );
  assert.equal(toPoint({ ...tool, skillIds: [] }, new Float32Array(2), null, 'table').payload.is_classified, false);
});

test('BR-008: the index gets the vectors of skills when they changed, and counts their tools', async (t) => {
  const db = await openTestDatabase(t);
  const builtIn = loadStaticEmbedder();
  const store = await createSkillStore({ db, changes: createChanges() });
  const index = createSearchIndex(builtIn, builtIn);
  const skillIndex = createSkillIndex(builtIn, store);
  skillIndex.refresh(index);
  assert.equal(index.skills.length, store.list().length);
  const before = index.skills;
  skillIndex.refresh(index);
  assert.equal(index.skills, before);
  const [skill] = store.list();
  skillIndex.setTool({ ...tool, skillIds: [skill?.id ?? ''] }, builtIn.embedText('send mail'));
  assert.equal(skillIndex.toolCount(skill?.id ?? ''), 1);
  skillIndex.refresh(index);
  assert.notEqual(index.skills, before);
  skillIndex.removeTool(tool.id);
  assert.equal(skillIndex.toolCount(skill?.id ?? ''), 0);
});
