/** 2026-07-28: parameters that a tool marks with `x-mcp-header` are repeated as `Mcp-Param-<Name>` headers. */
import { encodeHeader, isObject, type JsonObject } from '../json-rpc.ts';

const tokenPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Not `number`: two programs rarely write the same fraction alike. */
const markable = new Set(['string', 'integer', 'boolean']);

export interface MarkedParameter {
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

export function parameterHeaders(schema: JsonObject, args: unknown): Record<string, string> | undefined {
  const marked = markedParameters(schema) ?? [];
  if (marked.length === 0) return undefined;
  const headers: Record<string, string> = {};
  for (const { header, path } of marked) {
    const value = path.reduce<unknown>((current, key) => (isObject(current) ? current[key] : undefined), args);
    if (typeof value === 'string') headers[`mcp-param-${header.toLowerCase()}`] = encodeHeader(value);
    else if (typeof value === 'number' || typeof value === 'boolean')
      headers[`mcp-param-${header.toLowerCase()}`] = String(value);
  }
  return headers;
}
