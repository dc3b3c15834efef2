/** Finds the statements of a TOML document. The document must be valid; a parser has checked it before. */
import { parse, type TomlTable } from 'smol-toml';

export interface TomlStatement {
  isHeader: boolean;
  /** Full path from the root, including the header of the table. */
  path: string[];
  /** Start of its first line. */
  start: number;
  /** After the line break of its last line. */
  end: number;
}

export function findStatements(text: string): TomlStatement[] {
  const statements: TomlStatement[] = [];
  let table: string[] = [];
  let at = text.startsWith('\uFEFF') ? 1 : 0;
  while (at < text.length) {
    const start = at;
    at = skip(text, at, ' \t');
    if (at === text.length || '\r\n#'.includes(text[at] as string)) {
      at = lineEnd(text, at);
      continue;
    }
    const isHeader = text[at] === '[';
    const keyStart = isHeader ? skip(text, at, '[') : at;
    const keyEnd = findKeyEnd(text, keyStart);
    const key = toPath(text.slice(keyStart, keyEnd));
    if (isHeader) table = key;
    at = lineEnd(text, isHeader ? keyEnd : valueEnd(text, skip(text, keyEnd + 1, ' \t')));
    statements.push({ isHeader, path: isHeader ? key : [...table, ...key], start, end: at });
  }
  return statements;
}

function skip(text: string, start: number, characters: string): number {
  let at = start;
  while (at < text.length && characters.includes(text[at] as string)) at += 1;
  return at;
}

function lineEnd(text: string, start: number): number {
  const end = text.indexOf('\n', start);
  return end === -1 ? text.length : end + 1;
}

/** At the `=` of a value or the `]` of a header. */
function findKeyEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length && text[at] !== '=' && text[at] !== ']') {
    at = text[at] === '"' || text[at] === "'" ? stringEnd(text, at) : at + 1;
  }
  return at;
}

function toPath(key: string): string[] {
  const path: string[] = [];
  for (let inner: unknown = parse(`${key} = 0`); typeof inner === 'object'; ) {
    const [[name, next] = ['', 0]] = Object.entries(inner as TomlTable);
    path.push(name);
    inner = next;
  }
  return path;
}

function valueEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; ) {
    const character = text[at] as string;
    if (character === '"' || character === "'") {
      at = stringEnd(text, at);
      continue;
    }
    if (depth === 0 && '\r\n#'.includes(character)) return at;
    if (character === '#') {
      at = lineEnd(text, at);
      continue;
    }
    if (character === '[' || character === '{') depth += 1;
    if (character === ']' || character === '}') depth -= 1;
    at += 1;
  }
  return text.length;
}

function stringEnd(text: string, start: number): number {
  const quote = text[start] as string;
  const isLong = text.startsWith(quote.repeat(3), start);
  const mark = isLong ? quote.repeat(3) : quote;
  for (let at = start + mark.length; at < text.length; at += 1) {
    if (quote === '"' && text[at] === '\\') at += 1;
    // Up to two quotes may stand before the mark that ends a long string.
    else if (text.startsWith(mark, at)) return isLong ? skip(text, at, quote) : at + 1;
  }
  return text.length;
}
