/** Databases of older versions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { defaultSkills } from '../../src/skills/taxonomy.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { findSkills, insertSkills, upsertSkill } from '../../src/store/skills.ts';
import { findTools, replaceServerTools, updateToolSkills } from '../../src/store/tools.ts';
import { createTestDatabase } from '../support/databases.ts';
import { addServer, newTools, roomyLimits } from './store.ts';

const tableOf = ({ engine }: Database) => sql.raw(engine === 'postgres' ? 'mcp.migrations' : 'migrations');

test('SKL-004: assignments get the new ids, built-in skills the new texts, own skills stay', async (t) => {
  const { url, file, close } = await createTestDatabase();
  t.after(close);
  const before = await openDatabase({ url, file });
  const builtIn = (id: string) => ({
    id,
    name: id,
    description: 'As it was',
    examples: ['x'],
    origin: 'builtin' as const,
  });
  const ids = [
    'memory',
    'notes_and_knowledge',
    'image_generation',
    'project_management',
    'issue_tracking',
    'web_search',
  ];
  await insertSkills(before, ids.map(builtIn));
  await upsertSkill(before, { ...builtIn('meetings_and_calls'), origin: 'custom' });
  await upsertSkill(before, { ...builtIn('security'), origin: 'custom' });
  const server = await addServer(before, 'old');
  await replaceServerTools(before, server, newTools('old', 4), roomyLimits);
  const [first, second, third, fourth] = (await findTools(before)).map(({ id }) => id) as [
    number,
    number,
    number,
    number,
  ];
  await updateToolSkills(before, [
    {
      id: first,
      skill_ids: ['email', 'memory'],
      primary_skill_id: 'email',
      skill_confidences: { email: 0.9, memory: 0.6 },
    },
    {
      id: second,
      skill_ids: ['image_generation'],
      primary_skill_id: 'image_generation',
      skill_confidences: { image_generation: 1 },
    },
    {
      id: third,
      skill_ids: ['project_management', 'issue_tracking'],
      primary_skill_id: 'project_management',
      skill_confidences: { project_management: 0.9, issue_tracking: 0.8 },
    },
    { id: fourth, skill_ids: ['database'], primary_skill_id: 'database', skill_confidences: { database: 1 } },
  ]);
  await sql`delete from ${tableOf(before)} where name = '060-skills'`.execute(before.kysely);
  await before.close();

  const after = await openDatabase({ url, file });
  t.after(() => after.close());
  const tools = (await findTools(after)).map((tool) => [
    tool.skill_ids,
    tool.primary_skill_id,
    tool.skill_confidences,
    tool.classification_state,
  ]);
  assert.deepEqual(tools, [
    [['email', 'notes_and_knowledge'], 'email', { email: 0.9, notes_and_knowledge: 0.6 }, 'CLASSIFYING'],
    [['design_and_3d'], 'design_and_3d', { design_and_3d: 1 }, 'CLASSIFYING'],
    [[], null, {}, 'DISCOVERED'],
    [['database'], 'database', { database: 1 }, 'CLASSIFYING'],
  ]);
  const skills = new Map((await findSkills(after)).map((skill) => [skill.id, skill]));
  for (const gone of ['memory', 'image_generation', 'project_management']) assert.ok(!skills.has(gone), gone);
  for (const own of ['meetings_and_calls', 'security']) assert.equal(skills.get(own)?.description, 'As it was');
  const added = [
    'developer_docs',
    'content_management',
    'networking',
    'design_and_3d',
    'reasoning',
    'server_utilities',
  ];
  for (const id of [...added, 'issue_tracking', 'notes_and_knowledge', 'web_search']) {
    const { name, description, examples } = skills.get(id) ?? {};
    const shipped = defaultSkills.find((skill) => skill.id === id);
    assert.deepEqual({ id, name, description, examples }, shipped);
    assert.equal(skills.get(id)?.origin, 'builtin');
  }
});

test('SKL-004: a database without skills gets none from the migration', async (t) => {
  const { url, file, close } = await createTestDatabase();
  t.after(close);
  const db = await openDatabase({ url, file });
  t.after(() => db.close());
  assert.deepEqual(await findSkills(db), []);
});
