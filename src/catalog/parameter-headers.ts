/** 2026-07-28: parameters that a tool marks with `x-mcp-header` are repeated as `Mcp-Param-<Name>` headers. */
import { encodeHeader, isObject, type JsonObject } from '../json-rpc.ts';

const prefix = 'mcp-param-';
const tokenPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Not `number`: two programs rarely write the same fraction alike. */
const markable = new Set(['string', 'integer', 'boolean']);

interface MarkedParameter {
  header: string;
  path: string[];
}

/** Schemas belong to immutable snapshots, and every call of a tool asks about the same one. */
const alreadyFound = new WeakMap<JsonObject, { marked: MarkedParameter[] | undefined }>();

/** The marked parameters, or undefined when a mark is invalid: such a tool must not be offered at all. */
export function markedParameters(schema: JsonObject): MarkedParameter[] | undefined {
  const known = alreadyFound.get(schema) ?? { marked: findMarked(schema) };
  alreadyFound.set(schema, known);
  return known.marked;
}

function findMarked(schema: JsonObject): MarkedParameter[] | undefined {
  const found: MarkedParameter[] = [];
  const valid = visit(schema, [], found);
  const names = new Set(found.map(({ header }) => header.toLowerCase()));
  return valid && names.size === found.length ? found : undefined;
}

function visit(schema: JsonObject, path: string[], found: MarkedParameter[]): boolean {
  if (!isObject(schema.properties)) return true;
  return Object.entries(schema.properties).every(([name, property]) => {
    if (!isObject(property)) return true;
    const mark = property['x-mcp-header'];
    if (mark !== undefined) {
      if (typeof mark !== 'string' || !tokenPattern.test(mark) || !markable.has(String(property.type))) return false;
      found.push({ header: mark, path: [...path, name] });
    }
    return visit(property, [...path, name], found);
  });
}

/** The headers of a call: what the tool marks, and what a client sent that we know nothing of. */
export function parameterHeaders(
  schema: JsonObject,
  args: unknown,
  received: Readonly<Record<string, string | string[] | undefined>> = {},
): Record<string, string> | undefined {
  let headers: Record<string, string> | undefined;
  for (const name in received) {
    if (!name.startsWith(prefix)) continue;
    const value = received[name];
    if (typeof value === 'string') headers = { ...headers, [name]: value };
  }
  for (const { header, path } of markedParameters(schema) ?? []) {
    const value = argumentAt(args, path);
    if (value === undefined) continue;
    headers = { ...headers, [prefix + header.toLowerCase()]: encodeHeader(value) };
  }
  return headers;
}

/** A marked parameter as text; undefined where the call has none. */
export function argumentAt(args: unknown, path: readonly string[]): string | undefined {
  const value = path.reduce<unknown>((current, key) => (isObject(current) ? current[key] : undefined), args);
  if (JSON.isRawJSON(value)) return value.rawJSON;
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined;
}
