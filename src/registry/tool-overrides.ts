/** What an admin decided about single tools of a server: the one schema, and how a change is applied. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { findCredential } from '../security/connection-secrets.ts';

const argumentName = z.string().min(1).max(255);

/** Arguments that an admin writes down are stored in plain text, and shown. */
export function withoutCredentials<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.superRefine((args, context) => {
    const path = findCredential(args);
    if (path === undefined) return;
    const message =
      'looks like a key, token or password: arguments are stored in plain text; give it to the server in env or headers';
    context.addIssue({ code: 'custom', path: [...path], message });
  });
}

const fields = {
  enabled: z.boolean().describe('false: the tool is neither listed nor found nor callable'),
  rename: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'rename must have 1 to 64 characters: A-Z, a-z, 0-9, "_" and "-"')
    .describe('the name that clients see instead of the one that the server gave'),
  description: z.string().min(1).max(10_000),
  fixed_arguments: withoutCredentials(z.record(argumentName, z.unknown())).describe(
    'arguments that every call gets, whatever the caller sends; clients do not see them, but users of the aggregator do',
  ),
  hidden_arguments: z
    .array(argumentName)
    .max(100)
    .describe('arguments that clients do not see and that are not passed on'),
};

export const toolOverride = z.strictObject({
  enabled: fields.enabled.optional(),
  rename: fields.rename.optional(),
  description: fields.description.optional(),
  fixed_arguments: fields.fixed_arguments.optional(),
  hidden_arguments: fields.hidden_arguments.optional(),
});
export type ToolOverride = z.infer<typeof toolOverride>;

/** null takes a decision back. */
export const toolOverridePatch = z.strictObject({
  enabled: fields.enabled.nullish(),
  rename: fields.rename.nullish(),
  description: fields.description.nullish(),
  fixed_arguments: fields.fixed_arguments.nullish(),
  hidden_arguments: fields.hidden_arguments.nullish(),
});
export type ToolOverridePatch = z.infer<typeof toolOverridePatch>;

const maxOverrides = 1_000;

/** By the tool's own name. A name with "*" stands for all tools that match it, and can only enable or disable. */
export const toolOverrides = z
  .record(z.string().min(1).max(255), toolOverride)
  .superRefine((overrides, context) => {
    if (Object.keys(overrides).length > maxOverrides) {
      context.addIssue({ code: 'custom', message: `may name at most ${maxOverrides} tools` });
    }
    for (const [tool, { enabled: _enabled, ...others }] of Object.entries(overrides)) {
      if (!isPattern(tool) || Object.keys(others).length === 0) continue;
      context.addIssue({ code: 'custom', path: [tool], message: 'a name with "*" can only set enabled' });
    }
  })
  .describe('decisions about single tools, by their own names; "*" in a name matches any characters');
export type ToolOverrides = z.infer<typeof toolOverrides>;

export const isPattern = (tool: string): boolean => tool.includes('*');

/** The decisions after a change of one; a tool about which nothing is decided has no entry. */
export function withOverride(overrides: ToolOverrides, tool: string, patch: ToolOverridePatch): ToolOverrides {
  const { [tool]: before = {}, ...others } = overrides;
  const decided = Object.entries({ ...before, ...patch }).filter(([, value]) => value !== null && value !== undefined);
  const next = Object.fromEntries(decided) as ToolOverride;
  return isDeepStrictEqual(next, {}) ? others : { ...others, [tool]: next };
}
