import { z } from 'zod';
import { AppError, ValidationError } from '../errors.ts';

export const queryToolName = 'mcp__proxy__aggregator__query';

const queryBounds = { min: 1, max: 10_000 };
const resultBounds = { min: 10, max: 100 };
const tokenBounds = { min: 100, max: 200_000 };

export const querySchema = z.object({
  query: z
    .string()
    .min(queryBounds.min)
    .max(queryBounds.max)
    .refine((query) => query.trim() !== '', 'Must contain more than white space')
    .describe('The user prompt or question to search for across MCP servers'),
  maxResults: z
    .int()
    .min(resultBounds.min)
    .max(resultBounds.max)
    .default(30)
    .describe('Maximum number of results to return (default: 30)'),
  servers: z
    .array(z.string())
    .optional()
    .describe('Optional list of specific servers to query (default: all configured)'),
  max_tokens: z
    .int()
    .min(tokenBounds.min)
    .max(tokenBounds.max)
    .optional()
    .describe('Budget for the content of all results together, in tokens'),
  rerank: z
    .enum(['local', 'model'])
    .optional()
    .describe('"model" lets the configured model reorder and condense the results (default: "local")'),
  plan: z
    .enum(['local', 'model'])
    .optional()
    .describe(
      '"model" lets the configured model, or the model of a client that supports sampling, fill in complex arguments (default: "local")',
    ),
  full: z
    .boolean()
    .optional()
    .describe(
      'Return complete results; by default, long results are shortened to the passages that are relevant to the query, lower ranks more than higher ones',
    ),
  compact: z.boolean().optional().describe('Return the results with minimal metadata (the default for MCP clients)'),
  explain: z.boolean().optional().describe('Return how each server would be queried, without calling it'),
});

export type QueryRequest = z.infer<typeof querySchema>;

/** the JSON-RPC error for a bad parameter. */
export class QueryInputError extends ValidationError {
  readonly data: { field: string; reason: string };

  constructor(field: string, reason: string) {
    super([{ loc: ['body', field], msg: reason, type: 'value_error' }]);
    this.message = 'Invalid query parameters';
    this.data = { field, reason };
  }
}

/** the JSON-RPC error when no server gave anything. */
export class AllServersFailedError extends AppError {
  readonly data: { attemptedServers: string[]; errors: string[] };

  constructor(attemptedServers: string[], errors: string[]) {
    const data = { attemptedServers, errors };
    super('SERVER_UNAVAILABLE', 'Aggregation failed: all servers unavailable', { context: data });
    this.data = data;
  }
}

export function parseQuery(input: unknown): QueryRequest {
  const parsed = querySchema.safeParse(input);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  if (issue === undefined) throw parsed.error;
  const [field, index] = issue.path;
  if (field === undefined) throw new QueryInputError('arguments', `Must be an object, got ${kindOf(input)}`);
  const value = valueAt(input, issue.path);
  const place = typeof index === 'number' ? `Entry ${index + 1}: ` : '';
  throw new QueryInputError(String(field), `${place}${reasonOf(issue, String(field), value)}`);
}

function reasonOf(issue: z.core.$ZodIssue, field: string, value: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      return value === undefined
        ? 'Is required'
        : `Must be ${articles[issue.expected] ?? issue.expected}, got ${kindOf(value)}`;
    case 'too_small':
    case 'too_big':
      return typeof value === 'string'
        ? `Must be between ${queryBounds.min} and ${queryBounds.max} characters, got ${value.length}`
        : `Must be between ${boundsOf(field).min} and ${boundsOf(field).max}, got ${value}`;
    case 'invalid_value':
      return `Must be one of ${issue.values.map((allowed) => JSON.stringify(allowed)).join(', ')}, got ${kindOf(value)}`;
    default:
      return issue.message;
  }
}

const articles: Record<string, string> = {
  string: 'a string',
  int: 'an integer',
  number: 'an integer',
  array: 'an array',
  boolean: 'true or false',
};

function boundsOf(field: string): { min: number; max: number } {
  return field === 'max_tokens' ? tokenBounds : resultBounds;
}

/** Short values as they are, so that the caller recognises them; long or compound ones by their kind. */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string' && value.length <= 40) return JSON.stringify(value);
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    input,
  );
}
