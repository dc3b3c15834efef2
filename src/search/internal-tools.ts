/** An index of our own tools: what a search without external tools finds. */
import type { StaticEmbedder } from './embed.ts';
import { createSearchIndex, embedTools, type SearchIndex } from './search-index.ts';
import type { SearchableTool } from './tool.ts';

/** A tool of our own, as `tools/list` shows it. */
export interface InternalToolDefinition {
  name: string;
  title?: string;
  description?: string;
  inputSchema?: unknown;
}

/** They have no row in the database; negative ids keep them apart from those that have one. */
export async function indexInternalTools(
  definitions: readonly InternalToolDefinition[],
  embedder: StaticEmbedder,
): Promise<SearchIndex> {
  const tools = definitions.map(({ name, title, description = '', inputSchema }, place): SearchableTool => {
    const common = { server: '', skillIds: [], primarySkillId: null, isExternal: false };
    return { ...common, id: -1 - place, name, originalName: name, title, description, inputSchema };
  });
  const index = createSearchIndex(embedder, embedder);
  const vectors = await embedTools(embedder, tools);
  for (const [place, tool] of tools.entries()) index.upsert(tool, vectors[place] ?? null);
  return index;
}
