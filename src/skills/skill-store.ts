/** The skills that people may add, change and remove; a new installation starts with the built-in ones. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Changes } from '../changes.ts';
import type { Database } from '../store/database.ts';
import { deleteSkill, findSkills, insertSkills, upsertSkill } from '../store/skills.ts';
import { createStoredCollection } from '../store/stored-collection.ts';
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
  /** Reads them again, after another replica changed them. */
  reload(): Promise<void>;
}

export async function createSkillStore({ db, changes }: { db: Database; changes: Changes }): Promise<SkillStore> {
  if ((await findSkills(db)).length === 0)
    await insertSkills(
      db,
      defaultSkills.map((skill) => ({ ...skill, origin: 'builtin' })),
    );
  const skills = await createStoredCollection({
    load: async () => (await findSkills(db)).map(toEntry),
    replicated: { changes, topic: 'skills.stored' },
    onReloaded(before, after) {
      if (!isDeepStrictEqual(before, after)) changes.publish('skills.changed', { reloaded: true });
    },
  });

  return {
    list: () => [...skills.entries.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
    find: (id) => skills.entries.get(id),
    async save(skill) {
      const created = await skills.change(async (entries) => {
        const isNew = !entries.has(skill.id);
        await upsertSkill(db, { ...skill, origin: 'custom' });
        entries.set(skill.id, skill);
        return isNew;
      });
      changes.publish('skills.changed', { reloaded: false });
      return { created };
    },
    async remove(id) {
      const existed = await skills.change(async (entries) => {
        const wasStored = await deleteSkill(db, id);
        entries.delete(id);
        return wasStored;
      });
      if (existed) changes.publish('skills.changed', { reloaded: false });
      return existed;
    },
    reload: () => skills.reload(),
  };
}

function toEntry({ id, name, description, examples }: Skill): [string, Skill] {
  return [id, { id, name, description, examples }];
}
