/** Lists of an MCP endpoint, page by page. */
import type { Json } from './api.ts';
import { callMcp, type ListMethod } from './mcp-call.ts';
import { isObject } from './schema.ts';

export type McpItem = Json;

const maxPages = 20;

export async function listMcp(
  endpoint: string,
  method: ListMethod,
  member: string,
  signal: AbortSignal,
): Promise<McpItem[]> {
  const items: McpItem[] = [];
  let cursor: unknown;
  for (let page = 0; page < maxPages; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await callMcp(
      { endpoint, method, params },
      { signal, onProgress() {}, onQuestions: async () => ({}) },
    );
    if (Array.isArray(result[member])) items.push(...result[member].filter(isObject));
    cursor = result.nextCursor;
    if (cursor === undefined) break;
  }
  return items;
}
