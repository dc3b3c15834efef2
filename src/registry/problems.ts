import type { z } from 'zod';
import type { Problem } from '../errors.ts';

/** Zod's issues as the problems of the 422 answer; unknown fields are named one by one. */
export function toProblems(error: z.ZodError, prefix: (string | number)[]): Problem[] {
  return error.issues.flatMap((issue): Problem[] => {
    const loc = [...prefix, ...issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))];
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ loc: [...loc, key], msg: `unknown field: ${key}`, type: 'extra_forbidden' }));
    }
    const missing =
      issue.code === 'invalid_type' && issue.input === undefined && issue.message.startsWith('Invalid input');
    return [{ loc, msg: missing ? 'Field required' : issue.message, type: missing ? 'missing' : 'value_error' }];
  });
}
