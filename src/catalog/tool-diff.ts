/** How the tools of a server differ from those that were known before. Pure. */
import { withPlainNumbers } from '../exact-json.ts';
import type { JsonObject } from '../json-rpc.ts';
import type { ToolRow } from '../store/schema.ts';
import { type DiscoveredTool, definitionHash, type ToolChanges } from '../store/tools.ts';
import { toCanonical } from './tool-name.ts';

/** Rows with the skills that they were given. What was read before the server changed a tool must not undo that. */
export function withNews(own: readonly ToolRow[], news: readonly ToolRow[]): ToolRow[] {
  const newById = new Map(news.map((row) => [row.id, row]));
  return own.map((row) => {
    const newer = newById.get(row.id);
    if (newer?.definition_hash !== row.definition_hash) return row;
    const { skill_ids, primary_skill_id, skill_confidences, is_classified, classification_state } = newer;
    return { ...row, skill_ids, primary_skill_id, skill_confidences, is_classified, classification_state };
  });
}

export function namesOf({ added, changed, removed }: ToolChanges) {
  return {
    added: added.map((row) => row.name),
    changed: changed.map(({ after }) => after.name),
    removed: removed.map((row) => row.name),
  };
}

export function hasChanges({ added, changed, removed }: ToolChanges): boolean {
  return added.length + changed.length + removed.length > 0;
}

export function compareTools(before: readonly ToolRow[], after: readonly ToolRow[]): ToolChanges {
  const known = new Map(before.map((row) => [row.id, row]));
  const changes: ToolChanges = { added: [], changed: [], removed: [], unchanged: [] };
  for (const row of after) {
    const old = known.get(row.id);
    known.delete(row.id);
    if (old === undefined) changes.added.push(row);
    else if (old.definition_hash !== row.definition_hash) changes.changed.push({ before: old, after: row });
    else changes.unchanged.push(row);
  }
  changes.removed.push(...known.values());
  return changes;
}

export function toDiscovered(server: string, name: string, definition: JsonObject): DiscoveredTool {
  const annotations = definition.annotations as JsonObject | undefined;
  const title = definition.title ?? annotations?.title;
  return {
    name: toCanonical(server, name),
    original_name: name,
    title: typeof title === 'string' ? title : null,
    description: typeof definition.description === 'string' ? definition.description : null,
    // Looked into by search and others; clients get the definition.
    input_schema: withPlainNumbers(definition.inputSchema ?? { type: 'object' }) as JsonObject,
    definition,
    definition_hash: definitionHash(definition),
  };
}

/** What changed in a definition, member by member. */
export function differences(
  before: JsonObject,
  after: JsonObject,
): { member: string; before: unknown; after: unknown }[] {
  const members = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return members
    .filter((member) => JSON.stringify(before[member]) !== JSON.stringify(after[member]))
    .map((member) => ({ member, before: before[member] ?? null, after: after[member] ?? null }));
}

/** The names of a summary, few enough for a server's history. */
export function shortened(summary: Record<string, string[]>): JsonObject {
  return Object.fromEntries(
    Object.entries(summary)
      .filter(([, names]) => names.length > 0)
      .map(([what, names]) => [
        what,
        names.length > 20 ? [...names.slice(0, 20), `… ${names.length - 20} more`] : names,
      ]),
  );
}
