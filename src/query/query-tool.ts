import { z } from 'zod';
import { querySchema, queryToolName } from './request.ts';

const sourceSchema = z.object({
  server: z.string(),
  tool: z.string(),
  position: z.int().optional().describe('Position in the answer of that tool, from 0'),
  title: z.string().optional().describe('Only if it differs from the value of the result'),
  link: z.string().optional().describe('Only if it differs from the value of the result'),
});

const resultSchema = z.object({
  content: z.string().describe('The result content from the MCP server'),
  server: z.string().describe('Which MCP server provided this result'),
  relevanceScore: z.number().min(0).max(1).describe('Relevance score (0.0 to 1.0)'),
  rank: z.int().min(1).describe('Ranking position (1 = most relevant)'),
  timestamp: z.string().meta({ format: 'date-time' }).describe('When this result was retrieved').optional(),
  tool: z.string().optional(),
  title: z.string().optional(),
  link: z.string().optional(),
  sources: z
    .array(sourceSchema)
    .optional()
    .describe('The servers and tools that returned this result, the shown one first, at most five'),
  moreSources: z.int().optional().describe('How many more there are'),
  condensed: z
    .boolean()
    .optional()
    .describe('True if the content was shortened, to the relevant passages or by a model'),
});

const serverReportSchema = z.object({
  server: z.string(),
  ok: z.boolean(),
  ms: z.int(),
  items: z.int().describe('What its answers held'),
  relevant: z.int().describe('How many of them answer the query'),
  error: z.string().optional(),
  resting: z.array(z.string()).optional().describe('Tools that were not called because they kept failing'),
  calls: z.array(
    z.object({
      tool: z.string().describe('The tool, or the method for resources and completions'),
      count: z.int().describe('How often it was called'),
      ms: z.int().describe('Of the slowest call'),
      items: z.int(),
      truncated: z.boolean().optional(),
      error: z.string().optional(),
    }),
  ),
});

const metadataSchema = z.object({
  serversQueried: z.int().describe('Number of servers queried'),
  serversSucceeded: z.int().describe('Number of servers that responded successfully'),
  totalResultsRaw: z.int().optional().describe('Total results before ranking/dedup'),
  totalResultsDedup: z.int().optional().describe('Results after deduplication'),
  resultsReturned: z.int().describe('Final result count returned'),
  resultsCondensed: z.int().optional().describe('How many of them were shortened'),
  processingTimeMs: z.int().describe('Total processing time in milliseconds'),
  serverDiversity: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('Proportion of queried servers that contributed results'),
  chosenBy: z.enum(['call', 'rule', 'all']).optional().describe('How the servers were selected'),
  pattern: z.string().optional().describe('The server rule that matched'),
  tokensRaw: z.int().optional().describe('Estimated tokens of everything the servers sent'),
  tokensReturned: z.int().optional().describe('Estimated tokens of the content returned'),
  truncated: z.boolean().optional().describe('An answer exceeded the memory limit and was cut after a complete item'),
  dedupeComplete: z.boolean().optional(),
  ranking: z.enum(['local', 'model']).optional(),
  warnings: z.array(z.string()).optional(),
  servers: z.array(serverReportSchema).optional(),
  skipped: z
    .array(z.object({ server: z.string(), reason: z.string() }))
    .optional()
    .describe('Servers that were not queried, with the reason'),
});

const planSchema = z.object({
  server: z.string(),
  strategy: z.array(z.string()).describe('How the server is queried, as text'),
  calls: z
    .array(z.object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()), reason: z.string() }))
    .describe('The first calls; further calls depend on their answers'),
  leftOut: z
    .array(z.object({ tool: z.string(), reason: z.string() }))
    .describe('Tools that are never called by a query'),
});

export const queryOutputSchema = z.object({
  results: z.array(resultSchema),
  metadata: metadataSchema,
  plan: z.array(planSchema).optional().describe('Only with explain'),
});

export type QueryOutput = z.infer<typeof queryOutputSchema>;
export type QueryResult = z.infer<typeof resultSchema>;
export type ServerReport = z.infer<typeof serverReportSchema>;
export type ServerPlan = z.infer<typeof planSchema>;

/** What `tools/list` shows for the query. */
export const queryTool = {
  name: queryToolName,
  title: 'Query all servers',
  description:
    'Query multiple MCP servers concurrently and receive ranked, aggregated results optimized for LLM context efficiency.',
  inputSchema: jsonSchemaOf(querySchema),
  outputSchema: jsonSchemaOf(queryOutputSchema),
  annotations: { title: 'Query all servers', readOnlyHint: true, openWorldHint: true },
};

/** without the dialect, and without the bounds of JavaScript's integers. */
export function jsonSchemaOf(schema: z.ZodType): Record<string, unknown> {
  const { $schema, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return json;
}
