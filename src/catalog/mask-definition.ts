/** What servers write about their tools is prose, and may repeat what they were given, as their errors do. */
import type { JsonObject } from '../json-rpc.ts';

export type TextMask = (text: string) => string;

/** Calls need these as they are: names and addresses, and the values that a schema allows. */
const neededAsIs = new Set(['name', 'uri', 'uriTemplate', 'enum', 'const', 'required', 'pattern', '$ref']);

/**
 * The same object where nothing had to be hidden. Keys stay, too: they are names of parameters. Definitions that are
 * nested too deeply were refused before.
 */
export function maskDefinition(definition: JsonObject, mask: TextMask): JsonObject {
  const text = JSON.stringify(definition);
  return mask(text) === text ? definition : (maskValue(definition, mask) as JsonObject);
}

function maskValue(value: unknown, mask: TextMask): unknown {
  if (typeof value === 'string') return mask(value);
  if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) return value;
  if (Array.isArray(value)) return value.map((inner) => maskValue(inner, mask));
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, isNeeded(key, inner) ? inner : maskValue(inner, mask)]),
  );
}

/** A parameter may have one of these names as well; then its schema is prose like any other. */
function isNeeded(key: string, value: unknown): boolean {
  return neededAsIs.has(key) && (typeof value !== 'object' || Array.isArray(value));
}
