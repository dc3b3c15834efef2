/**
 * The Markdown that servers write, taken apart: CommonMark's usual forms and GitHub's tables, without HTML.
 * Servers choose the text, so all of it takes linear time. (micromark 4 needs 40 s for 16 KB of "- - - -".)
 */

export function looksLikeMarkdown(text: string): boolean {
  return (
    /^(#{1,6} |[-*+] |\d+[.)] |> |```|~~~|\|.+\|)/m.test(text) ||
    /\*\*[^*\n]+\*\*|(?<!\w)[*_][^*_\s][^*_\n]*[*_](?!\w)|`[^`\n]+`|\[[^[\]\n]+\]\(https?:/.test(text)
  );
}

export type Alignment = 'left' | 'center' | 'right' | undefined;

export type Block =
  | { kind: 'heading'; level: number; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'list'; start: number | undefined; items: Block[][] }
  | { kind: 'quote'; blocks: Block[] }
  | { kind: 'table'; columns: { text: string; align: Alignment }[]; rows: string[][] }
  | { kind: 'rule' }
  | { kind: 'paragraph'; text: string };

/** Each level reads its lines again, so the depth bounds the time. */
const maxDepth = 8;
const maxColumns = 50;

export function toBlocks(text: string): Block[] {
  return parse(text.split(/\r\n?|\n/), 0);
}

/** Where a block ends, and what it is; undefined where it begins as something else. */
type Found = { block: Block; end: number } | undefined;
type Reader = (lines: readonly string[], at: number, depth: number) => Found;

function parse(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    if (isBlank(lines[at])) {
      at += 1;
      continue;
    }
    const found = readBlock(lines, at, depth) ?? readParagraph(lines, at, depth);
    blocks.push(found.block);
    at = found.end;
  }
  return blocks;
}

function readBlock(lines: readonly string[], at: number, depth: number): Found {
  for (const read of readers) {
    const found = read(lines, at, depth);
    if (found !== undefined) return found;
  }
  return undefined;
}

const readCode: Reader = (lines, at) => {
  const fence = /^ {0,3}(```+|~~~+)[^`]*$/.exec(lines[at] ?? '')?.[1];
  if (fence === undefined) return undefined;
  const end = endOf(lines, at, (line) => !isClosing(line.trim(), fence));
  return { block: { kind: 'code', text: lines.slice(at + 1, end).join('\n') }, end: end + 1 };
};

const isClosing = (line: string, fence: string) => line.startsWith(fence) && isRepeated(line);

const readHeading: Reader = (lines, at) => {
  const line = (lines[at] ?? '').trim();
  const marks = /^#{1,6}(?= |$)/.exec(line)?.[0];
  if (marks === undefined) return undefined;
  const level = marks.length;
  return { block: { kind: 'heading', level, text: line.slice(level).trim() }, end: at + 1 };
};

const readRule: Reader = (lines, at) => {
  const signs = (lines[at] ?? '').replaceAll(' ', '');
  if (signs.length < 3 || !/^[-*_]/.test(signs) || !isRepeated(signs)) return undefined;
  return { block: { kind: 'rule' }, end: at + 1 };
};

const readQuote: Reader = (lines, at, depth) => {
  if (depth >= maxDepth || !isQuoted(lines[at])) return undefined;
  const end = endOf(lines, at, isQuoted);
  const inner = lines.slice(at, end).map((line) => line.replace(/^ {0,3}> ?/, ''));
  return { block: { kind: 'quote', blocks: parse(inner, depth + 1) }, end };
};

const isQuoted = (line = '') => /^ {0,3}>/.test(line);

interface Marker {
  indent: number;
  /** Where the text begins; the lines of an item are indented as far. */
  content: number;
  /** The number of an ordered list. */
  number: number | undefined;
}

function markerOf(line = ''): Marker | undefined {
  const found = /^( {0,100})([-*+]|\d{1,9}[.)])( {1,4}|$)/.exec(
    line.replace(/^\t+/, (tabs) => '    '.repeat(Math.min(tabs.length, 25))),
  );
  if (found === null) return undefined;
  const [whole, indent = '', sign = ''] = found;
  return {
    indent: indent.length,
    content: whole.length,
    number: /\d/.test(sign) ? Number.parseInt(sign, 10) : undefined,
  };
}

const readList: Reader = (lines, start, depth) => {
  const first = markerOf(lines[start]);
  if (first === undefined || depth >= maxDepth) return undefined;
  const items: Block[][] = [];
  let at = start;
  for (;;) {
    const marker = at < lines.length ? markerOf(lines[at]) : undefined;
    if (marker === undefined || (marker.number === undefined) !== (first.number === undefined)) break;
    // Further in would be a list of the item before, further out one of a list around this one.
    if (marker.indent >= first.content || readRule(lines, at, depth) !== undefined) break;
    const end = endOfItem(lines, at, marker.content);
    const own = [(lines[at] ?? '').trimStart().replace(/^\S+ ?/, '')];
    for (const line of lines.slice(at + 1, end)) own.push(outdented(line, marker.content));
    items.push(parse(own, depth + 1));
    at = end;
    // An empty line between two items.
    const next = skipBlank(lines, at);
    if (markerOf(lines[next]) !== undefined) at = next;
  }
  if (items.length === 0) return undefined;
  return { block: { kind: 'list', start: first.number, items }, end: at };
};

/** The lines that are indented as far as the item's text, and those that go on with its paragraph. */
function endOfItem(lines: readonly string[], start: number, content: number): number {
  let end = start + 1;
  for (let at = end; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (isBlank(line)) continue;
    const belongs = indentOf(line) >= Math.min(content, 4) && indentOf(line) > 0;
    const goesOn = at === end && markerOf(line) === undefined && !startsBlock(line);
    if (!belongs && !goesOn) break;
    // Two spaces are enough for a list within an ordered item, as many write it.
    if (!belongs && markerOf(line) !== undefined) break;
    end = at + 1;
  }
  return end;
}

const readTable: Reader = (lines, at) => {
  if (!(lines[at] ?? '').includes('|') || !/^[\s|:-]+$/.test(lines[at + 1] ?? '')) return undefined;
  const marks = cellsOf(lines[at + 1] ?? '');
  const head = cellsOf(lines[at] ?? '');
  if (marks.length !== head.length || !marks.every((mark) => /^:?-+:?$/.test(mark))) return undefined;
  const end = endOf(lines, at + 1, (line) => !isBlank(line) && line.includes('|'));
  const columns = head.map((text, place) => ({ text, align: alignmentOf(marks[place] ?? '') }));
  const rows = lines.slice(at + 2, end).map((line) => cellsOf(line).slice(0, columns.length));
  return { block: { kind: 'table', columns, rows }, end };
};

function alignmentOf(mark: string): Alignment {
  const [left, right] = [mark.startsWith(':'), mark.endsWith(':')];
  if (left && right) return 'center';
  return right ? 'right' : left ? 'left' : undefined;
}

/** The cells of a row; a "|" after a backslash or in code belongs to the text. */
function cellsOf(line: string): string[] {
  const row = line.trim();
  const cells: string[] = [];
  let from = row.startsWith('|') ? 1 : 0;
  let code = false;
  for (let at = from; at < row.length && cells.length < maxColumns; at += 1) {
    if (row[at] === '\\') at += 1;
    else if (row[at] === '`') code = !code && row.includes('`', at + 1);
    else if (row[at] === '|' && !code) {
      cells.push(row.slice(from, at).trim().replaceAll('\\|', '|'));
      from = at + 1;
    }
  }
  if (from < row.length && cells.length < maxColumns) cells.push(row.slice(from).trim().replaceAll('\\|', '|'));
  return cells;
}

const readers: readonly Reader[] = [readCode, readHeading, readRule, readQuote, readList, readTable];

function readParagraph(lines: readonly string[], at: number, depth: number): { block: Block; end: number } {
  const end = endOf(lines, at, (line, place) => {
    if (isBlank(line) || startsBlock(line)) return false;
    return (depth >= maxDepth || markerOf(line) === undefined) && readTable(lines, place, depth) === undefined;
  });
  const text = lines.slice(at, end).map((line) => line.trim());
  return { block: { kind: 'paragraph', text: text.join('\n') }, end };
}

const isRepeated = (signs: string) => signs === (signs[0] ?? '').repeat(signs.length);
const startsBlock = (line: string) => /^ {0,3}(#{1,6}( |$)|```|~~~|>)/.test(line);
const isBlank = (line = '') => line.trim() === '';
const indentOf = (line: string) => (/^[ \t]*/.exec(line)?.[0] ?? '').replaceAll('\t', '    ').length;

function outdented(line: string, width: number): string {
  return ' '.repeat(Math.max(0, indentOf(line) - width)) + line.trimStart();
}

function skipBlank(lines: readonly string[], start: number): number {
  let at = start;
  while (at < lines.length && isBlank(lines[at])) at += 1;
  return at;
}

/** Always past the line it starts at: a line that begins a block belongs to it. */
function endOf(lines: readonly string[], start: number, belongs: (line: string, at: number) => boolean): number {
  let end = start + 1;
  while (end < lines.length && belongs(lines[end] ?? '', end)) end += 1;
  return end;
}
