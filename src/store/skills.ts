import { toColumns } from './columns.ts';
import type { Database } from './database.ts';
import type { SkillRow } from './schema.ts';

type NewSkill = Omit<SkillRow, 'created_at' | 'updated_at'>;

/** Creates the skill or changes the one with its id. */
export function upsertSkill({ kysely }: Database, skill: NewSkill): Promise<SkillRow> {
  const now = new Date().toISOString();
  const { id: _id, ...changes } = skill;
  return kysely
    .insertInto('skills')
    .values(toColumns({ ...skill, created_at: now, updated_at: now }))
    .onConflict((conflict) => conflict.column('id').doUpdateSet(toColumns({ ...changes, updated_at: now })))
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** In one statement, because SQLite waits for the disk after each; another replica may have stored some already. */
export async function insertSkills({ kysely }: Database, skills: readonly NewSkill[]): Promise<void> {
  const now = new Date().toISOString();
  const rows = skills.map((skill) => toColumns({ ...skill, created_at: now, updated_at: now }));
  await kysely
    .insertInto('skills')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export function findSkills({ kysely }: Database): Promise<SkillRow[]> {
  return kysely.selectFrom('skills').selectAll().orderBy('id').execute();
}

export async function deleteSkill({ kysely }: Database, id: string): Promise<boolean> {
  const { numDeletedRows } = await kysely.deleteFrom('skills').where('id', '=', id).executeTakeFirst();
  return numDeletedRows > 0n;
}
