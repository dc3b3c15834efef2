/** Lists of an MCP endpoint (2026-07-28), page by page. */
import { ApiError, type Json } from './api.ts';

export type McpItem = Json;

const protocolVersion = '2026-07-28';
const maxPages = 20;

export async function listMcp(path: string, method: string, member: string, signal: AbortSignal): Promise<McpItem[]> {
  const items: McpItem[] = [];
  let cursor: unknown;
  for (let page = 0; page < maxPages; page += 1) {
    const result = await request(path, method, cursor === undefined ? {} : { cursor }, signal);
    if (Array.isArray(result[member])) items.push(...(result[member] as McpItem[]));
    cursor = result.nextCursor;
    if (cursor === undefined) break;
  }
  return items;
}

async function request(path: string, method: string, params: Json, signal: AbortSignal): Promise<Json> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': protocolVersion,
    'io.modelcontextprotocol/clientInfo': { name: 'mcp-aggregator-dashboard', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const response = await fetch(path, {
    method: 'POST',
    signal,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': protocolVersion,
      'mcp-method': method,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  });
  const { result, error } = (await response.json()) as { result?: Json; error?: { message: string } };
  if (result !== undefined) return result;
  throw new ApiError(
    response.status,
    'LIST_FAILED',
    error?.message ?? `The aggregator returned HTTP ${response.status}.`,
  );
}
