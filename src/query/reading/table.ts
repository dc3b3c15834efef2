/** Tables in text: Markdown, and columns separated by tabs, bars, commas or semicolons under a header. */

interface TextTable {
  before: string;
  records: Record<string, string>[];
  after: string;
}

const maxColumns = 60;

/** The first table in the text; undefined where there is none. One pass over the lines. */
export function tableOf(text: string): TextTable | undefined {
  const lines = text.split('\n');
  for (const [at, line] of lines.entries()) {
    // A table stands near the beginning; what comes late is a table inside a document.
    if (at > 12) return undefined;
    if (line.trim() === '') continue;
    const table = markdownAt(lines, at) ?? separatedAt(lines, at);
    if (table === undefined) continue;
    const { header, rows, end } = table;
    const after = lines.slice(end).join('\n').trim();
    // Prose around a table is a document, which reads better as it is.
    if (after.length > 400) return undefined;
    // Only the cells that are there: short rows under a wide header would make far more than was sent.
    const records = rows.map((cells) => toRecord(header, cells));
    return { before: lines.slice(0, at).join('\n').trim(), records, after };
  }
  return undefined;
}

function toRecord(header: readonly string[], cells: readonly string[]): Record<string, string> {
  return Object.fromEntries(header.slice(0, cells.length).map((name, column) => [name, cells[column] ?? '']));
}

interface Rows {
  header: string[];
  rows: string[][];
  end: number;
}

function markdownAt(lines: readonly string[], at: number): Rows | undefined {
  const header = barCells(lines[at] ?? '');
  const rule = (lines[at + 1] ?? '').trim();
  if (header === undefined || !isRule(rule)) return undefined;
  const rows: string[][] = [];
  let end = at + 2;
  for (; end < lines.length; end += 1) {
    const cells = barCells(lines[end] ?? '');
    if (cells === undefined) break;
    rows.push(cells);
  }
  return rows.length === 0 ? undefined : { header: named(header), rows, end };
}

/** `|---|:--:|`, `-----+-----`. */
function isRule(line: string): boolean {
  if (line.length < 3 || !line.includes('-')) return false;
  for (const character of line) if (!'|-:+ ='.includes(character)) return false;
  return line.includes('|') || line.includes('+');
}

function barCells(line: string): string[] | undefined {
  const trimmed = line.trim();
  if (!trimmed.includes('|')) return undefined;
  const inner = trimmed.slice(trimmed.startsWith('|') ? 1 : 0, trimmed.endsWith('|') ? -1 : undefined);
  const cells = inner.split('|').map((cell) => cell.trim());
  return cells.length < 2 || cells.length > maxColumns ? undefined : cells;
}

const separators = ['\t', ';', ',', ' | '];

/** A header and at least two rows with as many columns; commas inside quotes do not separate. */
function separatedAt(lines: readonly string[], at: number): Rows | undefined {
  const first = lines[at] ?? '';
  const separator = separators.find(
    (candidate) => first.split(candidate).length > 2 || (candidate === '\t' && first.includes('\t')),
  );
  if (separator === undefined || first.length > 1_000) return undefined;
  const header = cellsOf(first, separator);
  if (header.some((name) => name === '' || name.length > 40 || /[.!?]$/.test(name) || /^\d/.test(name)))
    return undefined;
  const rows: string[][] = [];
  let end = at + 1;
  for (; end < lines.length; end += 1) {
    const line = lines[end] ?? '';
    if (line.trim() === '') break;
    const cells = cellsOf(line, separator);
    if (cells.length !== header.length) return undefined;
    rows.push(cells);
  }
  return rows.length < 2 ? undefined : { header: named(header), rows, end };
}

function cellsOf(line: string, separator: string): string[] {
  if (!line.includes('"')) return line.split(separator).map((cell) => cell.trim());
  const cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === '"') {
      if (isQuoted && line[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else isQuoted = !isQuoted;
    } else if (!isQuoted && line.startsWith(separator, at)) {
      cells.push(cell.trim());
      cell = '';
      at += separator.length - 1;
    } else cell += line[at];
  }
  return [...cells, cell.trim()];
}

/** Every column needs a name of its own. */
function named(header: readonly string[]): string[] {
  return header.map((name, at) =>
    name === '' || header.indexOf(name) < at ? `column ${at + 1}` : name.replace(/^\*\*|\*\*$/g, ''),
  );
}
