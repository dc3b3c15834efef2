/** The `[mcp_servers.*]` tables of a TOML file; everything else stays as its owner wrote it. */

const root = 'mcp_servers';

export function setServerTable(text: string, name: string, values: Record<string, unknown>): string {
  const lines = [`[${root}.${name}]`, ...Object.entries(values).map(([key, value]) => `${key} = ${toToml(value)}`)];
  const table = `${lines.join('\n')}\n`;
  const found = tableSpan(text, name);
  if (found !== undefined) {
    const after = text.slice(found.end);
    return text.slice(0, found.start) + table + (after === '' || after.startsWith('\n') ? '' : '\n') + after;
  }
  if (text.trim() === '') return table;
  return `${text.trimEnd()}\n\n${table}`;
}

/** The same text where there is no such table. */
export function removeServerTable(text: string, name: string): string {
  const found = tableSpan(text, name);
  if (found === undefined) return text;
  const before = text.slice(0, found.start).trimEnd();
  const after = text.slice(found.end).replace(/^\n+/, '');
  if (before === '') return after;
  return after === '' ? `${before}\n` : `${before}\n\n${after}`;
}

/** Every server as its values; what this reader does not understand is left out of them. */
export function readServerTables(text: string): Record<string, Record<string, unknown>> {
  const servers: Record<string, Record<string, unknown>> = {};
  let current: Record<string, unknown> | undefined;
  for (const line of joinArrays(text)) {
    const header = headerOf(line);
    if (header !== undefined) {
      const [first, name, part, ...deeper] = header;
      current = undefined;
      if (first !== root || name === undefined || deeper.length > 0) continue;
      servers[name] ??= {};
      current = servers[name];
      if (part !== undefined) {
        const inner: Record<string, unknown> = {};
        current[part] = inner;
        current = inner;
      }
      continue;
    }
    const [, key, value] = /^\s*("[^"]*"|[\w-]+)\s*=\s*(.+)$/.exec(line) ?? [];
    if (current === undefined || key === undefined || value === undefined) continue;
    const parsed = fromToml(value);
    if (parsed !== undefined) current[unquoted(key)] = parsed;
  }
  return servers;
}

function tableSpan(text: string, name: string): { start: number; end: number } | undefined {
  let offset = 0;
  let start: number | undefined;
  for (const line of text.split('\n')) {
    const header = headerOf(line);
    if (header !== undefined) {
      const ours = header[0] === root && header[1] === name;
      if (ours) start ??= offset;
      else if (start !== undefined) return { start, end: withoutTrailingBlank(text, start, offset) };
    }
    offset += line.length + 1;
  }
  return start === undefined ? undefined : { start, end: text.length };
}

/** Blank lines and comments above the next table belong to that one. */
function withoutTrailingBlank(text: string, start: number, end: number): number {
  const body = text.slice(start, end);
  return start + body.replace(/(\n[ \t]*(#[^\n]*)?)+$/, '\n').length;
}

function headerOf(line: string): string[] | undefined {
  const inner = /^\s*\[([^[\]]+)\]\s*(#.*)?$/.exec(line)?.[1];
  return inner?.match(/"[^"]*"|'[^']*'|[\w-]+/g)?.map(unquoted);
}

const unquoted = (word: string) => word.replace(/^(["'])(.*)\1$/, '$2');

/** Arrays may run over several lines. */
function joinArrays(text: string): string[] {
  return text
    .replace(/=\s*\[[^\]]*\]/g, (array) => array.replace(/#[^\n"']*\n/g, '\n').replaceAll('\n', ' '))
    .split('\n');
}

/** Strings, numbers, booleans, arrays and inline tables of them: what entries of servers are made of. */
function fromToml(text: string): unknown {
  const json = text
    .replace(/'([^']*)'/g, (_whole, literal: string) => JSON.stringify(literal))
    .replace(/("(?:[^"\\]|\\.)*")|#.*$/g, (whole, string?: string) => (string === undefined ? '' : whole))
    .replace(/("(?:[^"\\]|\\.)*")(\s*=)?|([\w-]+)(\s*=)/g, (whole, string, equals, word) => {
      if (word !== undefined) return `${JSON.stringify(word)}:`;
      return equals === undefined ? whole : `${string}:`;
    })
    .replace(/,(\s*[\]}])/g, '$1');
  try {
    return JSON.parse(json);
  } catch {
    return undefined; // a date or another kind of value that entries of servers do not need
  }
}

function toToml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toToml).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([key, part]) => `${JSON.stringify(key)} = ${toToml(part)}`)
    .join(', ')} }`;
}
