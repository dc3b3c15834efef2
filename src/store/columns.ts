import { parseJson } from '../exact-json.ts';

/**
 * SQLite knows neither JSON nor booleans as types, so these names say which columns hold them, whatever the table.
 * PostgreSQL columns of these names are `json` and `boolean`.
 */
const jsonColumns = [
  'connection_config',
  'options',
  'tool_overrides',
  'server_info',
  'capabilities',
  'session_evidence',
  'input_schema',
  'definition',
  'definition_before',
  'definition_after',
  'skill_ids',
  'skill_confidences',
  'details',
  'servers',
  'examples',
  'value',
  'counts',
] as const;
type JsonColumn = (typeof jsonColumns)[number];
const isJson = new Set<string>(jsonColumns);
const isBoolean = new Set(['auto_connect', 'ended', 'is_external', 'is_classified']);

type Columns<T> = { [K in keyof T]: K extends JsonColumn ? string | Extract<T[K], null | undefined> : T[K] };

/** A row on its way into a table: JSON columns as text, and no NUL, which PostgreSQL refuses in a text. */
export function toColumns<T extends object>(row: T): Columns<T> {
  const columns: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(row)) {
    if (isJson.has(name) && value !== null && value !== undefined) columns[name] = JSON.stringify(value);
    else if (typeof value === 'string' && value.includes('\0')) columns[name] = value.replaceAll('\0', '');
    else columns[name] = value;
  }
  // The compiler can't follow keys that are built one by one.
  return columns as Columns<T>;
}

/** Converts a row of SQLite into what PostgreSQL's driver returns. */
export function fromSqlite(row: Record<string, unknown>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const name in row) {
    const value = row[name];
    if (typeof value === 'string' && isJson.has(name)) values[name] = parseJson(value);
    else if (typeof value === 'number' && isBoolean.has(name)) values[name] = value !== 0;
    else values[name] = value;
  }
  return values;
}
