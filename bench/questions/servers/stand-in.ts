/** What the stand-in servers share: starting, shaping answers, and recording every call that changes something. */
import { appendFileSync } from 'node:fs';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { CallToolResult, ToolAnnotations } from '@modelcontextprotocol/sdk/types.js';
import type { ZodRawShape } from 'zod';
import { random } from '../../../test/query/random.ts';

export const readOnly: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };
export const changing: ToolAnnotations = { readOnlyHint: false, destructiveHint: false };
export const destructive: ToolAnnotations = { readOnlyHint: false, destructiveHint: true };

export async function start(server: McpServer): Promise<void> {
  await server.connect(new StdioServerTransport());
}

/** Registers a tool that changes something. It only records that it was called. */
export function writes(
  server: McpServer,
  name: string,
  description: string,
  inputSchema: ZodRawShape = {},
  annotations?: ToolAnnotations,
): void {
  const config = { description, inputSchema, ...(annotations === undefined ? {} : { annotations }) };
  server.registerTool(name, config, (args) => {
    recordWrite(name, args);
    return text('Done.');
  });
}

export function recordWrite(tool: string, args: unknown): void {
  const file = process.env.QUESTIONS_WRITE_LOG;
  if (file === undefined) throw new Error('QUESTIONS_WRITE_LOG is not set.');
  appendFileSync(file, `${JSON.stringify({ tool, args })}\n`);
}

export const text = (content: string): CallToolResult => ({ content: [{ type: 'text', text: content }] });
export const json = (value: unknown): CallToolResult => text(JSON.stringify(value, null, 2));
export const structured = (value: Record<string, unknown>): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  structuredContent: value,
});
export const failure = (message: string): CallToolResult => ({ ...text(message), isError: true });

/** True when every word of the query occurs in the text, as strict search engines have it. */
export function hasAllWords(content: string, query: string): boolean {
  const haystack = content.toLowerCase();
  return query
    .toLowerCase()
    .split(/[^\p{L}\p{N}.#-]+/u)
    .every((word) => haystack.includes(word));
}

/** Repeatable choices, so that generated records are the same in every run. */
export function createSampler(seed: number) {
  const next = random(seed);
  return {
    between: (low: number, high: number) => low + Math.floor(next() * (high - low + 1)),
    pick<T>(list: readonly [T, ...T[]]): T {
      return list[Math.floor(next() * list.length)] ?? list[0];
    },
  };
}

/** One page of a list, with what a server says about the rest. */
export function pageOf<T>(list: readonly T[], page: number, size: number) {
  const pages = Math.max(1, Math.ceil(list.length / size));
  return { items: list.slice((page - 1) * size, page * size), pages, hasMore: page < pages };
}
