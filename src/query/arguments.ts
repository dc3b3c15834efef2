import { isRecord } from './records.ts';

/** How well a parameter suits the query: 2 it is meant for one, 1 it would take one (a name, a topic), 0 not at all. */
export type QueryFit = 0 | 1 | 2;

export type Filling = { ok: true; arguments: Record<string, unknown>; fit: QueryFit } | { ok: false; reason: string };

/**
 * Arguments for a tool that nobody wrote down: the query in the parameter meant for it, every other required parameter
 * from its schema or the query's words. Anything that would have to be guessed makes the tool unusable here.
 */
export function fillArguments(query: string, inputSchema: unknown): Filling {
  const schema = isRecord(inputSchema) ? inputSchema : {};
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === 'string') : [];
  const best = bestQueryParameter(query, properties, required);

  const filled: Record<string, unknown> = {};
  if (best !== undefined) filled[best.name] = best.value;
  for (const name of required) {
    if (name === best?.name) continue;
    const value = safeValue(query, name, properties[name]);
    if (value === undefined) return { ok: false, reason: `required parameter "${name}" cannot be filled safely` };
    filled[name] = value.value;
  }
  return { ok: true, arguments: filled, fit: best?.fit ?? 0 };
}

const meantForQuery =
  /^(?:q|query|queries|search|searchquery|searchterm|searchterms|searchtext|searchstring|question|prompt|keyword|keywords|term|terms|phrase|userquery|naturallanguagequery|textquery)$/;
const takesQuery =
  /^(?:topic|subject|name|title|text|input|libraryname|library|package|symbol|concept|request|task|content|words)$/;
const describedAsQuery =
  /\b(?:search (?:query|term|text|phrase|string)|quer(?:y|ies)|question|keywords?|search for|look(?:ing)? for)\b/i;
/** A language of its own: plain words put there are a syntax error at best. */
const notPlainText =
  /\b(?:sql|graphql|cypher|sparql|promql|logql|jsonpath|xpath|jq|regex|regular expression|glob|css selector|lucene|kql|jql|cel)\b/i;
const identifier = /(?:^|_)(?:id|ids|uri|url|path|file|cursor|token|key|sha|hash|date|time|email|owner|repo)$/;

interface QueryParameter {
  name: string;
  value: unknown;
  fit: 1 | 2;
}

function bestQueryParameter(
  query: string,
  properties: Record<string, unknown>,
  required: readonly string[],
): QueryParameter | undefined {
  const candidates = Object.entries(properties).flatMap(([name, schema]) => {
    const fit = queryFit(name, schema);
    const value = fit === 0 ? undefined : asParameter(query, schema);
    // A sentence is no name: only a short query goes where a name is expected.
    const isTooLong = fit === 1 && query.trim().split(/\s+/).length > 6;
    return fit === 0 || value === undefined || isTooLong ? [] : [{ name, value, fit, needed: required.includes(name) }];
  });
  return candidates.toSorted((a, b) => b.fit - a.fit || Number(b.needed) - Number(a.needed))[0];
}

function queryFit(name: string, schema: unknown): QueryFit {
  if (!isRecord(schema) || schema.enum !== undefined || schema.const !== undefined) return 0;
  const isText =
    allows(schema, 'string') || (allows(schema, 'array') && isRecord(schema.items) && allows(schema.items, 'string'));
  if (!isText || (typeof schema.format === 'string' && schema.format !== 'text')) return 0;
  const description = typeof schema.description === 'string' ? schema.description : '';
  const plain = name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase();
  if (notPlainText.test(description) || notPlainText.test(plain.replaceAll('_', ' ')) || identifier.test(plain))
    return 0;
  const bare = plain.replace(/[^a-z]/g, '');
  if (meantForQuery.test(bare)) return 2;
  if (!allows(schema, 'string')) return 0;
  if (describedAsQuery.test(description)) return takesQuery.test(bare) ? 2 : 1;
  return takesQuery.test(bare) ? 1 : 0;
}

function asParameter(query: string, schema: unknown): unknown {
  if (!isRecord(schema)) return undefined;
  if (!allows(schema, 'string')) return [query];
  const max = typeof schema.maxLength === 'number' ? schema.maxLength : query.length;
  const text = query.length <= max ? query : atWord(query, max);
  const min = typeof schema.minLength === 'number' ? schema.minLength : 0;
  if (text.length < min || text === '') return undefined;
  // A server's pattern runs on the server's risk elsewhere, never here: one that is demanded cannot be checked cheaply.
  return schema.pattern === undefined ? text : undefined;
}

function atWord(text: string, max: number): string {
  const end = text.lastIndexOf(' ', max);
  return text.slice(0, end > max / 2 ? end : max).trim();
}

const countName =
  /^(?:limit|count|max|top_?k|k|n|num|size|page_?size|per_?page|max_?results|num_?results|max_?items)$/i;
const pageName = /^(?:page|page_?number)$/i;
const offsetName = /^(?:offset|skip|start|from)$/i;

function safeValue(query: string, name: string, schema: unknown): { value: unknown } | undefined {
  if (!isRecord(schema)) return undefined;
  if (schema.default !== undefined) return { value: schema.default };
  if (schema.const !== undefined) return { value: schema.const };
  if (Array.isArray(schema.enum)) return fromEnum(query, schema.enum);
  if (allows(schema, 'null')) return { value: null };
  if (allows(schema, 'integer') || allows(schema, 'number')) return countValue(name, schema);
  if (queryFit(name, schema) === 2) {
    const value = asParameter(query, schema);
    return value === undefined ? undefined : { value };
  }
  if (allows(schema, 'array') && !(typeof schema.minItems === 'number' && schema.minItems > 0)) return { value: [] };
  return undefined;
}

function fromEnum(query: string, values: readonly unknown[]): { value: unknown } | undefined {
  if (values.length === 1) return { value: values[0] };
  const words = new Set(query.toLowerCase().match(/[\p{L}\p{N}_-]+/gu) ?? []);
  const named = values.filter((value) => typeof value === 'string' && words.has(value.toLowerCase()));
  return named.length === 1 ? { value: named[0] } : undefined;
}

function countValue(name: string, schema: Record<string, unknown>): { value: number } | undefined {
  const wanted = countName.test(name) ? 10 : pageName.test(name) ? 1 : offsetName.test(name) ? 0 : undefined;
  if (wanted === undefined) return undefined;
  const min = typeof schema.minimum === 'number' ? schema.minimum : wanted;
  const max = typeof schema.maximum === 'number' ? schema.maximum : wanted;
  return { value: Math.min(Math.max(wanted, min), Math.max(max, min)) };
}

function allows(schema: Record<string, unknown>, type: string): boolean {
  if (schema.type === type) return true;
  if (Array.isArray(schema.type)) return schema.type.includes(type);
  const variants = [schema.anyOf, schema.oneOf].find(Array.isArray);
  return variants?.some((variant) => isRecord(variant) && allows(variant, type)) ?? false;
}
