/** From a row of the catalog to what is searched, and to what Qdrant keeps of it. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { ToolRow } from '../store/schema.ts';
import type { ToolPoint } from './qdrant.ts';
import type { SearchableTool } from './tool.ts';

/** ST-002 */
export const isSearchable = (status: string) => status === 'CONNECTED' || status === 'DEGRADED';

export function toSearchable(row: ToolRow, server: string): SearchableTool {
  return {
    id: row.id,
    name: row.name,
    originalName: row.original_name,
    server,
    title: row.title ?? undefined,
    description: row.description ?? '',
    inputSchema: row.input_schema,
    skillIds: row.skill_ids,
    primarySkillId: row.primary_skill_id,
    isExternal: row.is_external,
  };
}

export function toPoint(tool: SearchableTool, vector: Float32Array, serverId: string | null, model: string): ToolPoint {
  return {
    id: tool.id,
    vector,
    payload: {
      type: 'tool',
      db_id: tool.id,
      name: tool.name,
      description: tool.description,
      source_server_id: serverId,
      source_server_name: tool.server,
      original_name: tool.originalName,
      is_external: tool.isExternal,
      is_classified: tool.skillIds.length > 0,
      skill_ids: tool.skillIds,
      primary_skill_id: tool.primarySkillId,
      embedding_model: model,
    },
  };
}

export function hasSkills(
  { skillIds, primarySkillId }: SearchableTool,
  ids: readonly string[],
  primary: string | null,
): boolean {
  return primarySkillId === primary && isDeepStrictEqual(skillIds, ids);
}
