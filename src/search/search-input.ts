/** What may be searched for: the same for REST, MCP and the command line. */
import { z } from 'zod';

const maxQuery = 10_000;
const maxStep = 2_000;
const maxSteps = 12;

/** FIND-001: at least one of the two. */
export const searchInput = {
  query: z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(maxQuery)
    .optional()
    .describe('The task, in plain words; required without `queries`'),
  queries: z
    .array(z.string().trim().min(1, 'must not be empty').max(maxStep))
    .min(1)
    .max(maxSteps)
    .optional()
    .describe(
      'One query for each step of a task that needs several tools, in plain words, for example ["find a customer by email", "send a message to a channel"]; every step gets a fair share of `limit`, and at least one tool',
    ),
};

interface SearchInput {
  query?: string | undefined;
  queries?: string[] | undefined;
}

export const hasQuery = ({ query, queries }: SearchInput) => query !== undefined || queries !== undefined;
export const missingQuery = { path: ['query'], message: 'query or queries is required' };

/** As one text, for what remembers or shows a search. */
export const toSearchText = ({ query, queries = [] }: SearchInput): string =>
  [...(query === undefined ? [] : [query]), ...queries].join('\n');
