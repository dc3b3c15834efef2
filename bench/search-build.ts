import { loadStaticEmbedder } from '../src/search/embed.ts';
import { createSearchIndex, embedTools, type SearchIndex } from '../src/search/search-index.ts';
import { createEmbeddedClassifier } from '../src/skills/embedded-classifier.ts';
import { createSkillVectors } from '../src/skills/skill-vectors.ts';
import { defaultSkills, toSkillText } from '../src/skills/taxonomy.ts';
import { loadTrainedClassifier } from '../src/skills/trained-classifier.ts';
import type { SetTool } from './search-sets.ts';

export interface BuildTimes {
  loadMs: number;
  embedMs: number;
  classifyMs: number;
  indexMs: number;
}

/** Embeds, classifies and indexes tools the way the application does. */
export async function buildIndex(tools: SetTool[]): Promise<{ index: SearchIndex; times: BuildTimes }> {
  const marks = [performance.now()];
  const embedder = loadStaticEmbedder();
  marks.push(performance.now());
  const vectors = await embedTools(embedder, tools);
  marks.push(performance.now());
  const classify = createEmbeddedClassifier(loadTrainedClassifier(), embedder.embedText, defaultSkills);
  const skillVectors = createSkillVectors(embedder.dimensions);
  for (const skill of defaultSkills) skillVectors.setSkill(skill.id, embedder.embedText(toSkillText(skill)));
  const classified = tools.map((tool, position) => {
    const vector = vectors[position] ?? new Float32Array(embedder.dimensions);
    const { skillIds, primarySkillId } = classify({
      id: tool.id,
      name: tool.originalName,
      title: tool.title ?? '',
      description: tool.description,
      parameters: '',
      server: { name: tool.server, description: '' },
    });
    skillVectors.setTool(tool.id, skillIds, vector);
    return { ...tool, skillIds, primarySkillId };
  });
  marks.push(performance.now());
  const index = createSearchIndex(embedder, embedder);
  for (const { server, serverText = '' } of tools) index.describeServer(server, serverText);
  for (const [position, tool] of classified.entries()) index.upsert(tool, vectors[position] ?? null);
  index.setSkills(
    defaultSkills.flatMap(({ id, name }) => {
      const vector = skillVectors.vectorOf(id);
      return vector === undefined ? [] : [{ id, name, vector }];
    }),
  );
  marks.push(performance.now());
  const spent = marks.slice(1).map((mark, position) => mark - (marks[position] ?? mark));
  const [loadMs = 0, embedMs = 0, classifyMs = 0, indexMs = 0] = spent;
  return { index, times: { loadMs, embedMs, classifyMs, indexMs } };
}
