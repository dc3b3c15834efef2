/** The vectors of skills beside the index of tools. They live in the built-in model's space, whatever search uses. */
import type { SkillStore } from '../skills/skill-store.ts';
import { createSkillVectors } from '../skills/skill-vectors.ts';
import { toSkillText } from '../skills/taxonomy.ts';
import type { StaticEmbedder } from './embed.ts';
import type { SearchIndex } from './search-index.ts';
import type { SearchableTool } from './tool.ts';

export interface SkillIndex {
  /** Skills were added, changed or removed. */
  load(): void;
  setTool(tool: SearchableTool, vector: Float32Array | null): void;
  removeTool(id: number): void;
  toolCount(skillId: string): number;
  /** Another model's vectors are searched from now on, or again those of the built-in one. */
  invalidate(): void;
  /** Gives the index the vectors of skills, where they changed since the last time. */
  refresh(index: Pick<SearchIndex, 'embedder' | 'setSkills'>): void;
}

export function createSkillIndex(builtIn: StaticEmbedder, skillStore: SkillStore): SkillIndex {
  const vectors = createSkillVectors(builtIn.dimensions);
  let known: string[] = [];
  let isStale = true;
  load();

  function load(): void {
    const skills = skillStore.list();
    for (const id of known) if (skillStore.find(id) === undefined) vectors.removeSkill(id);
    known = skills.map(({ id }) => id);
    for (const skill of skills) vectors.setSkill(skill.id, builtIn.embedText(toSkillText(skill)));
    isStale = true;
  }

  return {
    load,
    setTool({ id, skillIds }, vector) {
      vectors.setTool(id, skillIds, vector);
      isStale = true;
    },
    removeTool(id) {
      vectors.removeTool(id);
      isStale = true;
    },
    toolCount: vectors.toolCount,
    invalidate() {
      isStale = true;
    },
    refresh(index) {
      if (!isStale) return;
      isStale = false;
      // Requests that another model embeds cannot be compared with them.
      const skills = index.embedder.identity === builtIn.identity ? skillStore.list() : [];
      index.setSkills(
        skills.flatMap(({ id, name }) => {
          const vector = vectors.vectorOf(id);
          return vector === undefined ? [] : [{ id, name, vector }];
        }),
      );
    },
  };
}
