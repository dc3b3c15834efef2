/** A tool as it is offered: what its server lists, changed by what an admin decided about it. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject } from '../json-rpc.ts';
import { isPattern, type ToolOverride, type ToolOverrides } from '../registry/tool-overrides.ts';
import type { ToolRow } from '../store/schema.ts';
import type { ToolChanges } from '../store/tools.ts';
import { matchesPattern } from './name-pattern.ts';

interface OfferedRow {
  /** The same object as the given one where nothing was decided about the tool. */
  row: ToolRow;
  enabled: boolean;
  override?: ToolOverride;
}

export function offerTool(listed: ToolRow, overrides: ToolOverrides): OfferedRow {
  const override = Object.hasOwn(overrides, listed.original_name) ? overrides[listed.original_name] : undefined;
  const enabled = override?.enabled ?? isEnabledByPattern(listed.original_name, overrides);
  return override === undefined ? { row: listed, enabled } : { row: rowOf(listed, override), enabled, override };
}

/** Both are replaced and never changed, so that the same row stays the same object from snapshot to snapshot. */
const made = new WeakMap<ToolRow, { override: ToolOverride; row: ToolRow }>();

function rowOf(listed: ToolRow, override: ToolOverride): ToolRow {
  const known = made.get(listed);
  if (known?.override === override) return known.row;
  const row = offeredRow(listed, override);
  made.set(listed, { override, row });
  return row;
}

/** Of several patterns, the longest decides. */
function isEnabledByPattern(tool: string, overrides: ToolOverrides): boolean {
  let decisive = '';
  for (const name in overrides) {
    if (isPattern(name) && name.length > decisive.length && matchesPattern(name, tool)) decisive = name;
  }
  return overrides[decisive]?.enabled ?? true;
}

function offeredRow(
  listed: ToolRow,
  { description, fixed_arguments = {}, hidden_arguments = [] }: ToolOverride,
): ToolRow {
  const hidden = new Set([...hidden_arguments, ...Object.keys(fixed_arguments)]);
  if (description === undefined && hidden.size === 0) return listed;
  const { inputSchema } = listed.definition;
  return {
    ...listed,
    description: description ?? listed.description,
    input_schema: withoutProperties(listed.input_schema, hidden),
    definition: {
      ...listed.definition,
      ...(description === undefined ? {} : { description }),
      ...(isObject(inputSchema) ? { inputSchema: withoutProperties(inputSchema, hidden) } : {}),
    },
  };
}

function withoutProperties(schema: JsonObject, hidden: ReadonlySet<string>): JsonObject {
  if (hidden.size === 0) return schema;
  const { properties, required, ...rest } = schema;
  return {
    ...rest,
    ...(isObject(properties)
      ? { properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !hidden.has(name))) }
      : {}),
    ...(Array.isArray(required) ? { required: required.filter((name) => !hidden.has(String(name))) } : {}),
  };
}

/** The arguments that the server gets for those that a caller sent. */
export function passedArguments(args: unknown, { fixed_arguments, hidden_arguments = [] }: ToolOverride): unknown {
  if (fixed_arguments === undefined && hidden_arguments.length === 0) return args;
  const given = Object.entries(isObject(args) ? args : {}).filter(([name]) => !hidden_arguments.includes(name));
  return { ...Object.fromEntries(given), ...fixed_arguments };
}

/** What an admin changed in the tools that are offered. */
export function compareOffered(before: readonly ToolRow[], after: readonly ToolRow[]): ToolChanges {
  const known = new Map(before.map((row) => [row.id, row]));
  const changes: ToolChanges = { added: [], changed: [], removed: [], unchanged: [] };
  for (const row of after) {
    const old = known.get(row.id);
    known.delete(row.id);
    if (old === undefined) changes.added.push(row);
    else if (isDeepStrictEqual([old.name, old.definition], [row.name, row.definition])) changes.unchanged.push(row);
    else changes.changed.push({ before: old, after: row });
  }
  changes.removed.push(...known.values());
  return changes;
}

/** What a discovery changed in the tools that are offered. */
export function offeredChanges(
  { added, changed, removed, unchanged }: ToolChanges,
  overrides: ToolOverrides,
): ToolChanges {
  const offered = (rows: readonly ToolRow[]) =>
    rows.map((row) => offerTool(row, overrides)).flatMap(({ row, enabled }) => (enabled ? [row] : []));
  return {
    added: offered(added),
    changed: changed.flatMap(({ before, after }) => offered([after]).map((row) => ({ before, after: row }))),
    removed,
    unchanged: offered(unchanged),
  };
}
