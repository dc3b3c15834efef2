import { loadStaticEmbedder } from '../../src/search/embed.ts';
import { createSearchIndex, embedTools, type SearchIndex } from '../../src/search/search-index.ts';
import type { SearchableTool } from '../../src/search/tool.ts';

export const embedder = loadStaticEmbedder();

export function sampleTool(id: number, server: string, name: string, description: string): SearchableTool {
  return {
    id,
    name: `${server}.${name}`,
    originalName: name,
    server,
    description,
    inputSchema: { type: 'object', properties: {} },
    skillIds: [],
    primarySkillId: null,
    isExternal: true,
  };
}

export const sampleTools: SearchableTool[] = [
  sampleTool(1, 'github', 'create_issue', 'Create a new issue in a GitHub repository'),
  sampleTool(2, 'github', 'list_pull_requests', 'List pull requests of a repository'),
  sampleTool(3, 'gitlab', 'create_issue', 'Create a new issue in a GitLab project'),
  sampleTool(4, 'weather', 'get_forecast', 'Weather forecast for a city for the coming days'),
  sampleTool(5, 'slack', 'post_message', 'Post a message to a Slack channel'),
  sampleTool(6, 'mail', 'send_email', 'Send an email to one or more recipients'),
  sampleTool(7, 'postgres', 'run_query', 'Run a read-only SQL query against the database'),
  sampleTool(8, 'files', 'readFile', 'Read the complete contents of a file from the file system'),
  sampleTool(9, 'calendar', 'create_event', 'Create a calendar event with attendees'),
  sampleTool(10, 'spotify', 'play_track', 'Play a song on the current device'),
];

export async function sampleIndex(tools: SearchableTool[] = sampleTools): Promise<SearchIndex> {
  const index = createSearchIndex(embedder, embedder);
  const vectors = await embedTools(embedder, tools);
  for (const [position, tool] of tools.entries()) index.upsert(tool, vectors[position] ?? null);
  return index;
}
