/** Edits the servers below `mcp_servers` in a TOML file; all other bytes are unchanged. */
import { parse, stringify, TomlError } from 'smol-toml';
import { findStatements, type TomlStatement } from './toml-statements.ts';
import { checkEdit, UneditableConfig } from './uneditable.ts';

const root = 'mcp_servers';

type TomlTable = Record<string, unknown>;

export function setServerTable(text: string, name: string, values: TomlTable): string {
  const { servers, ...others } = readDocument(text);
  const table = stringify({ [root]: { [name]: values } }).replaceAll('\n', lineBreakOf(text));
  const edited = replaced(text, name, table) ?? appended(cutServer(text, name), table);
  const expected = { ...others, servers: { ...servers, [name]: readDocument(table).servers[name] } };
  checkEdit(name, () => readDocument(edited), expected);
  return edited;
}

/** The text with all values masked but those of one server. */
export function maskTables(text: string, keep: string): string {
  return findStatements(text).reduceRight((rest, { isHeader, path, start, end }) => {
    if (isHeader || (path[0] === root && path[1] === keep)) return rest;
    const line = rest.slice(start, end);
    const key = line.slice(0, line.indexOf('=') + 1);
    const ending = /\r?\n$/.exec(line)?.[0] ?? '';
    return `${rest.slice(0, start)}${key} "***"${ending}${rest.slice(end)}`;
  }, text);
}

/** Returns the text unchanged if the server does not exist. */
export function removeServerTable(text: string, name: string): string {
  const { servers, rest } = readDocument(text);
  const { [name]: _removed, ...others } = servers;
  const edited = cutServer(text, name);
  checkEdit(name, () => readDocument(edited), { servers: others, rest });
  return edited;
}

export function readServerTables(text: string): Record<string, TomlTable> {
  const entries = Object.entries(readDocument(text).servers);
  return Object.fromEntries(entries.filter((pair): pair is [string, TomlTable] => isTable(pair[1])));
}

function readDocument(text: string): { servers: TomlTable; rest: TomlTable } {
  try {
    const document = parse(text.replace(/^\uFEFF/, ''), { integersAsBigInt: 'asNeeded' });
    const { [root]: servers = {}, ...rest } = toPlain(document) as TomlTable;
    if (isTable(servers)) return { servers, rest };
    throw new UneditableConfig(`The file is not a server configuration: ${root} is not a table`);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Only the first line, because the others quote the file, which may contain tokens.
    const reason = error.message.split('\n')[0]?.replace(/^Invalid TOML document: /, '');
    throw new UneditableConfig(`The file is not valid TOML (line ${error.line}, column ${error.column}): ${reason}`);
  }
}

/** Converts tables without a prototype and bigints to plain JSON values. */
function toPlain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(toPlain);
  if (!isTable(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, toPlain(part)]));
}

function isTable(value: unknown): value is TomlTable {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

interface Run {
  start: number;
  end: number;
  first: TomlStatement;
}

/** The statements of a server, with adjacent ones merged; comments between them belong to it. */
function runsOf(text: string, name: string): Run[] {
  const runs: Run[] = [];
  let inRun = false;
  for (const statement of findStatements(text)) {
    const isOurs = statement.path[0] === root && statement.path[1] === name;
    const last = runs.at(-1);
    if (isOurs && inRun && last !== undefined) last.end = statement.end;
    else if (isOurs) runs.push({ start: statement.start, end: statement.end, first: statement });
    inRun = isOurs;
  }
  return runs;
}

/** Replaces a server that is a single table; undefined if it is spread over the file or missing. */
function replaced(text: string, name: string, table: string): string | undefined {
  const [run, ...more] = runsOf(text, name);
  if (run === undefined || !run.first.isHeader || more.length > 0) return undefined;
  return text.slice(0, run.start) + table + text.slice(run.end);
}

function appended(text: string, table: string): string {
  const lineBreak = lineBreakOf(text);
  if (text.trim() === '') return table;
  return `${text}${text.endsWith('\n') ? '' : lineBreak}${lineBreak}${table}`;
}

function cutServer(text: string, name: string): string {
  return runsOf(text, name).reduceRight((rest, { start, end, first }) => {
    const before = rest.slice(0, start);
    const after = rest.slice(end);
    if (!first.isHeader) return before + after;
    // Remove one of the blank lines around the table as well.
    if (before.trim() === '') return before + after.replace(/^\r?\n/, '');
    return before.replace(/(\n)\r?\n$/, '$1') + after;
  }, text);
}

const lineBreakOf = (text: string) => (text.includes('\r\n') ? '\r\n' : '\n');
