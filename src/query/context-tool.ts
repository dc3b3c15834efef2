/** The context aggregator as clients see it: its request, its answer and its entry in `tools/list`. */
import { z } from 'zod';
import { jsonSchemaOf } from './query-tool.ts';
import { QueryInputError } from './request.ts';

const contextToolName = 'mcp__proxy__aggregator__context_aggregator';

const contextRequestSchema = z.object({
  query: z.string().min(1).max(10_000).describe('What the context is needed for'),
  max_tokens: z.int().min(200).max(20_000).default(4000).describe('Budget for the context returned, in tokens'),
});

const citationSchema = z.object({
  source: z.string().describe('Mark used in the context, e.g. "S1"'),
  server: z.string(),
  tool: z.string(),
  title: z.string().optional(),
  link: z.string().optional(),
});

const stepSchema = z.object({
  round: z.int(),
  action: z.enum(['ask_servers', 'search_tools', 'call_tool', 'read_resource', 'answer', 'refused']),
  detail: z.string(),
  ms: z.int(),
  error: z.string().optional(),
});

export const contextOutputSchema = z.object({
  context: z.string().describe('What was found, with marks such as [S1] behind what a source said'),
  citations: z.array(citationSchema),
  metadata: z.object({
    rounds: z.int(),
    calls: z.int(),
    inputTokens: z.int(),
    outputTokens: z.int(),
    processingTimeMs: z.int(),
    endedBy: z.enum(['answer', 'rounds', 'calls', 'tokens', 'model']),
    trace: z.array(stepSchema),
  }),
});

export type ContextOutput = z.infer<typeof contextOutputSchema>;
export type AgentStep = z.infer<typeof stepSchema>;

/** What `tools/list` shows where a model key is configured. */
export const contextTool = {
  name: contextToolName,
  title: 'Collect context',
  description:
    'Let an agent search and read across all connected MCP servers and return one compact context with citations.',
  inputSchema: jsonSchemaOf(contextRequestSchema),
  outputSchema: jsonSchemaOf(contextOutputSchema),
  annotations: { title: 'Collect context', readOnlyHint: true, openWorldHint: true },
};

export function parseContextRequest(input: unknown): z.infer<typeof contextRequestSchema> {
  const parsed = contextRequestSchema.safeParse(input);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new QueryInputError(String(issue?.path[0] ?? 'arguments'), issue?.message ?? 'Invalid');
}
