/** The skills that people may add, change and remove; a new installation starts with the built-in ones. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { createMutex } from '../mutex.ts';
import type { Database } from '../store/database.ts';
import { deleteSkill, findSkills, upsertSkill } from '../store/skills.ts';
import { defaultSkills, type Skill } from './taxonomy.ts';

export const skillId = z
  .string()
  .max(64, 'id may have at most 64 characters')
  .regex(/^[a-z][a-z0-9_]*$/, 'id must start with a lowercase letter and hold only a-z, 0-9 and "_"');

export const skillDefinition = z.strictObject({
  name: z.string().min(1).max(100),
  description: z.string().min(1).max(1_000),
  examples: z.array(z.string().min(1).max(200)).max(50).default([]),
});

export interface SkillStore {
  list(): Skill[];
  find(id: string): Skill | undefined;
  save(skill: Skill): Promise<{ created: boolean }>;
  remove(id: string): Promise<boolean>;
  /** Reads them again, after another replica changed them; whether anything is new. */
  reload(): Promise<boolean>;
}

/** `onStored` is told of every change that other replicas must read. */
export async function createSkillStore(db: Database, onStored = () => {}): Promise<SkillStore> {
  const stored = await findSkills(db);
  if (stored.length === 0) {
    for (const skill of defaultSkills) await upsertSkill(db, { ...skill, origin: 'builtin' });
  }
  const withLock = createMutex();
  let skills = toMap(stored.length === 0 ? defaultSkills : stored);

  return {
    list: () => [...skills.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
    find: (id) => skills.get(id),
    save: (skill) =>
      withLock(async () => {
        const created = !skills.has(skill.id);
        await upsertSkill(db, { ...skill, origin: 'custom' });
        skills.set(skill.id, skill);
        onStored();
        return { created };
      }),
    remove: (id) =>
      withLock(async () => {
        const existed = await deleteSkill(db, id);
        skills.delete(id);
        onStored();
        return existed;
      }),
    reload: () =>
      withLock(async () => {
        const fresh = toMap(await findSkills(db));
        if (isDeepStrictEqual(fresh, skills)) return false;
        skills = fresh;
        return true;
      }),
  };
}

function toMap(list: readonly Skill[]): Map<string, Skill> {
  return new Map(list.map(({ id, name, description, examples }) => [id, { id, name, description, examples }]));
}
