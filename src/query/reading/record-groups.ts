/** The records in a structured answer: rows, hits, entities, whatever envelope they come in. */
import { isObject } from '../../json-rpc.ts';
import { singular } from '../../similarity/stem.ts';
import { titleKeys } from '../results/records.ts';

interface RecordGroup {
  /** What the records are, from the key that holds them: "issue" of `{issues: […]}`. */
  noun: string;
  records: readonly unknown[];
}

export interface Grouped {
  groups: RecordGroup[];
  /** What stood beside the lists: totals, cursors. */
  envelope: Record<string, unknown>;
}

export function groupRecords(value: unknown): Grouped {
  const envelope: Record<string, unknown> = {};
  return { groups: groupsOf(value, '', envelope, 0), envelope };
}

const longText = 40;
const maxDepth = 4;

/** The elements of an array, or the arrays inside an envelope, or the value itself. */
function groupsOf(value: unknown, noun: string, envelope: Record<string, unknown>, depth: number): RecordGroup[] {
  if (Array.isArray(value)) return [{ noun, records: tableRows(value) ?? value }];
  if (!isObject(value) || depth > maxDepth) return [{ noun, records: [value] }];
  const entries = Object.entries(value);
  const columns = namedColumns(value);
  if (columns !== undefined) {
    for (const [key, inner] of entries) if (!Array.isArray(inner)) envelope[key] = inner;
    return [{ noun, records: columns }];
  }
  const isThing = titleKeys.some((key) => typeof value[key] === 'string') || typeof value.id === 'string';
  const lists = isThing ? [] : entries.filter(([, inner]) => Array.isArray(inner));
  if (lists.length > 0) {
    const rest = entries.filter(([, inner]) => !Array.isArray(inner));
    for (const [key, inner] of rest) envelope[key] = inner;
    return [
      ...besideLists(rest),
      ...lists.map(([key, list]) => {
        const records = list as unknown[];
        return { noun: nounOfKey(key), records: tableRows(records) ?? records };
      }),
    ];
  }
  const keyed = isThing ? undefined : keyedThings(entries);
  if (keyed !== undefined) return [{ noun, records: keyed }];
  const inner = entries.filter(([, child]) => isObject(child));
  const [only] = inner;
  const restIsSmall = entries.every(
    ([, child]) => isObject(child) || typeof child !== 'string' || child.length < longText,
  );
  if (only !== undefined && inner.length === 1 && restIsSmall && !isThing && holdsRecords(only[1])) {
    for (const [key, child] of entries) if (!isObject(child)) envelope[key] = child;
    return groupsOf(only[1], nounOfKey(only[0]), envelope, depth + 1);
  }
  return [{ noun, records: [value] }];
}

const anyThing = new Set(
  'item result record entry hit data value node object row match element response output content'.split(' '),
);

/** "items" says nothing about what they are. */
function nounOfKey(key: string): string {
  const noun = singular(key.toLowerCase());
  return anyThing.has(noun) ? '' : noun;
}

const holdsRecords = (value: unknown): boolean =>
  isObject(value) && Object.values(value).some((inner) => Array.isArray(inner) || isObject(inner));

const bookkeeping =
  /^(?:total|count|size|limit|offset|page|pages|cursor|took|ok|success|status|query|q|has|next|prev|previous|more|start|end|max|is|error|errors|message|version|truncated|range|duration|elapsed|time|type|object|kind|results?)(?:$|[_A-Z]|s$)/;

/** Servers like to repeat what they were asked. */
const echoes =
  /^(?:query|q|search|search_?(?:term|query|text)|keywords?|pattern|input|prompt|question|filter|request|url|path|sql|statement)$/i;

/** `{active: 25, completed: 6, projects: […]}`: what is counted beside a list is a fact of its own. */
function besideLists(rest: readonly [string, unknown][]): RecordGroup[] {
  const facts = rest.filter(
    ([key, value]) =>
      !echoes.test(key) &&
      ((typeof value === 'string' && value.length > longText) || (!bookkeeping.test(key) && isFact(value))),
  );
  return facts.length === 0 ? [] : [{ noun: '', records: [Object.fromEntries(facts)] }];
}

const isFact = (value: unknown): boolean =>
  (typeof value === 'string' && value !== '') || typeof value === 'number' || isObject(value);

const maxColumns = 100;

const headerWithin = 5;

/** `[["date", "shop"], ["27 Dec", "Castle"]]`: rows under a header, which may stand below a title. */
function tableRows(rows: readonly unknown[]): unknown[] | undefined {
  if (rows.length < 2 || !rows.every(Array.isArray)) return undefined;
  const width = rows.reduce((widest: number, row) => Math.max(widest, filled(row).length), 0);
  if (width < 2) return undefined;
  const at = rows.findIndex((row, place) => place < headerWithin && isHeader(row) && row.length >= 0.7 * width);
  const header = at < 0 ? undefined : rows[at];
  if (!isHeader(header)) return rows.map((row) => filled(row).join(' | '));
  const titles = rows.slice(0, at).map((row) => filled(row).join(' '));
  return [...titles, ...rows.slice(at + 1).map((row) => toRecord(header, row))];
}

const filled = (row: readonly unknown[]): unknown[] => row.filter((cell) => cell !== null && cell !== '');

function isHeader(row: unknown): row is string[] {
  return (
    Array.isArray(row) &&
    row.length > 0 &&
    row.length <= maxColumns &&
    row.every((name) => typeof name === 'string' && name !== '') &&
    new Set(row).size === row.length
  );
}

function toRecord(header: readonly string[], row: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(row.map((cell, at) => [header[at] ?? `column ${at + 1}`, cell]));
}

/** `{columns: ["id", "name"], rows: [[1, "x"]]}`, as databases answer. */
function namedColumns(value: Record<string, unknown>): Record<string, unknown>[] | undefined {
  const entry = Object.entries(value).find(([key]) => /^(?:columns|fields|headers?|column_?names)$/i.test(key));
  const rows = Object.entries(value).find(([key]) => /^(?:rows|values|data|records|results)$/i.test(key))?.[1];
  if (!Array.isArray(entry?.[1]) || !Array.isArray(rows) || rows.length === 0 || !rows.every(Array.isArray)) {
    return undefined;
  }
  const header = entry[1].map((column: unknown) => (isObject(column) ? column.name : column));
  return isHeader(header) ? rows.map((row) => toRecord(header, row)) : undefined;
}

const plainKey = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/** `{"budget.xlsx": 6710, "rota.xlsx": 16813}`: the keys are the things. */
function keyedThings(entries: readonly [string, unknown][]): Record<string, unknown>[] | undefined {
  if (entries.length === 0 || entries.some(([key]) => plainKey.test(key) || key === '')) return undefined;
  return entries.map(([name, value]) => (isObject(value) ? { name, ...value } : { name, value }));
}
