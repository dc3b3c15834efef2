/** One piece of a text answer, before it becomes an item. */
export interface TextPiece {
  text: string;
  title?: string;
  link?: string;
}

/** Longer pieces are divided at paragraphs: one page-long item would drown the others in any budget. */
export const maxPieceChars = 6000;

const shortSectionChars = 1_500;

const rule = /^\s*(?:-{3,}|\*{3,}|_{3,}|={3,})\s*$/;
const numbered = /^(?:\[(\d{1,4})\]|(\d{1,4})[.)])\s+\S/;
const bullet = /^[-*+•]\s+\S/;
const fence = /^\s*(?:```|~~~)/;

/** A document that was read: in one piece where it is short, else in pieces of about a section. */
export function splitDocument(text: string): TextPiece[] {
  if (text.length <= shortDocumentChars) {
    const piece = describePiece({ lines: text.split('\n').map((line) => ({ text: line, inCode: false })) });
    return piece.text === '' ? [] : [{ ...piece, title: firstHeading(text) }];
  }
  const joined: TextPiece[] = [];
  for (const piece of splitText(text)) {
    const before = joined.at(-1);
    const belongs =
      before !== undefined &&
      (piece.title === undefined || piece.title === before.title || before.text.length < minPieceChars / 2);
    if (before !== undefined && belongs && before.text.length + piece.text.length < minPieceChars)
      before.text += `\n\n${piece.text}`;
    else joined.push({ ...piece });
  }
  return joined;
}

const shortDocumentChars = 1_800;
const minPieceChars = 900;

function firstHeading(text: string): string | undefined {
  const line = text.split('\n', 20).find((candidate) => candidate.startsWith('#'));
  return line
    ?.slice(0, 300)
    .replace(/^#+\s*/, '')
    .trim();
}

/**
 * Splits prose the way its author did: by rules, by headings, by numbered hits, by bullets, else by paragraphs. Lines
 * inside code fences never split.
 */
export function splitText(text: string): TextPiece[] {
  const lines = markFences(text.replace(/\r\n?/g, '\n').split('\n'));
  return splitAtRules(lines)
    .flatMap(splitSection)
    .map(describePiece)
    .filter((piece) => piece.text.length > 0);
}

interface Line {
  text: string;
  inCode: boolean;
}

interface TextSection {
  lines: Line[];
  title?: string;
}

function markFences(lines: string[]): Line[] {
  let inCode = false;
  return lines.map((text) => {
    if (!fence.test(text)) return { text, inCode };
    inCode = !inCode;
    return { text, inCode: true };
  });
}

/** "## Opening hours ##" → "Opening hours"; undefined where the line is no heading. */
function headingText(line: string): string | undefined {
  let level = 0;
  while (line[level] === '#') level += 1;
  if (level < 1 || level > 6 || (line[level] !== ' ' && line[level] !== '\t')) return undefined;
  const text = line.slice(level).trim();
  let end = text.length;
  while (text[end - 1] === '#') end -= 1;
  const title = text.slice(0, end).trimEnd();
  return text === '' ? undefined : title === '' ? text : title;
}

const isHeading = (line: string): boolean => headingText(line) !== undefined;

function splitAtRules(lines: Line[]): Line[][] {
  return groupBy(lines, (line) => !line.inCode && rule.test(line.text)).map((group) =>
    group.filter((line) => line.inCode || !rule.test(line.text)),
  );
}

function splitSection(lines: Line[]): TextSection[] {
  const starts = (line: Line): boolean => !line.inCode && isHeading(line.text);
  if (!lines.some(starts)) return splitHits({ lines });
  return joinBareHeadings(groupBy(lines, starts)).flatMap((group) => {
    const title = group.map((line) => headingText(line.text)).find((found) => found !== undefined);
    return splitHits({ lines: group, title });
  });
}

/** A heading with nothing below it (a page title above its first section) belongs to the section that follows. */
function joinBareHeadings(groups: Line[][]): Line[][] {
  const joined: Line[][] = [];
  let pending: Line[] = [];
  for (const group of groups) {
    const isBare = group.every((line) => isHeading(line.text) || line.text.trim() === '');
    for (const line of group) pending.push(line);
    if (isBare) continue;
    joined.push(pending);
    pending = [];
  }
  if (pending.length > 0) joined.push(pending);
  return joined;
}

function splitHits(section: TextSection): TextSection[] {
  const rows = splitRows(section) ?? splitIndented(section);
  if (rows !== undefined) return rows;
  for (const start of [numbered, bullet]) {
    const isStart = (line: Line): boolean => !line.inCode && start.test(line.text);
    const starts = section.lines.filter(isStart).length;
    if (starts < 2) continue;
    const groups = groupBy(section.lines, isStart);
    // Short bullets are one list that belongs together, hits carry text of their own.
    const length = section.lines.reduce((sum, line) => sum + line.text.length, 0);
    // Under a heading, bullets tell of what the heading names.
    if (start === bullet && (length / starts < 60 || (section.title !== undefined && length < shortSectionChars)))
      continue;
    const [lead = [], ...hits] = isStart(groups[0]?.[0] ?? { text: '', inCode: true }) ? [[], ...groups] : groups;
    const leadText = textOf(lead.filter((line) => !isHeading(line.text)));
    const before: TextSection[] = leadText.length > 80 ? [{ lines: lead, title: section.title }] : [];
    return [...before, ...hits.map((lines) => ({ lines }))];
  }
  return splitParagraphs(section);
}

const separators = [';', '\t', ' | ', ' - ', ' – ', ', '];
const minRows = 4;
const maxRow = 300;

/** Lines with the same separator are rows of a table without a header: each stands for itself. */
function splitRows({ lines, title }: TextSection): TextSection[] | undefined {
  const filled = lines.filter((line) => line.text.trim() !== '' && !isHeading(line.text));
  if (filled.length < minRows || filled.some((line) => line.inCode || line.text.length > maxRow)) return undefined;
  const separator = separators.find(
    (candidate) => filled.filter((line) => line.text.includes(candidate)).length >= 0.8 * filled.length,
  );
  if (separator === undefined || filled.filter((line) => keyLine.test(line.text)).length > 0.3 * filled.length)
    return undefined;
  const isProse =
    separator === ', ' && filled.filter((line) => /[.!?]$/.test(line.text.trim())).length > 0.3 * filled.length;
  if (isProse || filled.filter((line) => bullet.test(line.text) || numbered.test(line.text)).length > 0)
    return undefined;
  return filled.map((line) => ({ lines: [line], title }));
}

const keyLine = /^\s*[A-Za-z][\w .-]{0,40}:\s/;

/** A line at the margin and the indented lines below it are one thing, as in YAML. */
function splitIndented({ lines }: TextSection): TextSection[] | undefined {
  const filled = lines.filter((line) => line.text.trim() !== '');
  const tops = filled.filter((line) => !/^\s/.test(line.text));
  const isOutline =
    tops.length >= 2 && tops.length < filled.length && tops.every((line) => /:\s*$/.test(line.text) && !line.inCode);
  if (!isOutline) return undefined;
  return groupBy(filled, (line) => !/^\s/.test(line.text)).map((group) => ({
    lines: group,
    title: group[0]?.text.replace(/:\s*$/, '').trim(),
  }));
}

/** With a heading the section is one piece unless it is long; without one every paragraph stands for itself. */
function splitParagraphs(section: TextSection): TextSection[] {
  if (section.title !== undefined && textOf(section.lines).length <= maxPieceChars) return [section];
  const paragraphs = groupBy(section.lines, (line) => !line.inCode && line.text.trim() === '');
  const pieces: TextSection[] = [];
  let open: Line[] = [];
  let chars = 0;
  for (const paragraph of paragraphs) {
    for (const line of paragraph) {
      open.push(line);
      // Blank lines before the text are not part of it.
      if (chars > 0 || line.text.trim() !== '') chars += line.text.trim().length + 1;
    }
    // A line like "Result:" announces the next paragraph and means nothing alone.
    if (chars <= (section.title === undefined ? 60 : maxPieceChars / 2)) continue;
    pieces.push({ lines: open, title: section.title });
    open = [];
    chars = 0;
  }
  if (textOf(open).length > 0) pieces.push({ lines: open, title: section.title });
  return pieces;
}

const bareLink = /https?:\/\/[^\s<>")\]]+/;
const titleLine = /^(?:\*\*)?(?:title|name)(?:\*\*)?\s*:\s*(?:\*\*)?\s*(.+)$/im;
const bold = /^\s*(?:[-*+•]|\[?\d{1,4}[.)\]])?\s*\*\*(.{1,200}?)\*\*/;

function describePiece(section: TextSection): TextPiece {
  // The place that the server gave it is told by its position.
  const text = textOf(section.lines).replace(/^\[?\d{1,4}[.)\]]\s+(?=\S)/, '');
  const linked = findLink(text);
  const isHit = numbered.test(section.lines.find((line) => line.text.trim() !== '')?.text.trim() ?? '');
  const hit = isHit ? text.split('\n', 1)[0] : undefined;
  const title = section.title ?? titleLine.exec(text)?.[1] ?? bold.exec(text)?.[1] ?? linked?.label ?? hit;
  const link = linked?.url ?? withoutStops(bareLink.exec(text)?.[0]);
  return { text, title: title?.trim().slice(0, 200), link };
}

const maxLabel = 300;
const linkStart = /\]\((?=https?:\/\/)/g;
const urlEnd = /[\s)]/g;

/** The first `[label](url)`. The end of the address is looked for once, however many links begin before it. */
function findLink(text: string): { label: string; url: string } | undefined {
  let end = -1;
  for (const { index } of text.matchAll(linkStart)) {
    const from = index + 2;
    if (end < from) {
      urlEnd.lastIndex = from;
      end = urlEnd.exec(text)?.index ?? text.length;
    }
    if (text[end] !== ')') continue;
    const before = text.slice(Math.max(0, index - maxLabel - 1), index);
    const label = before.slice(before.lastIndexOf('[') + 1);
    if (before.includes('[') && /^[^\]\n]+$/.test(label)) return { label, url: text.slice(from, end) };
  }
  return undefined;
}

/** "See https://example.org/a." ends with a full stop that is not part of the address. */
function withoutStops(link: string | undefined): string | undefined {
  if (link === undefined) return undefined;
  let end = link.length;
  while ('.,;:'.includes(link[end - 1] ?? ' ')) end -= 1;
  return link.slice(0, end);
}

function textOf(lines: Line[]): string {
  return lines
    .map((line) => line.text)
    .join('\n')
    .trim();
}

/** Groups of lines, a new one beginning at each line that `starts` one. */
function groupBy(lines: Line[], starts: (line: Line) => boolean): Line[][] {
  const groups: Line[][] = [];
  for (const line of lines) {
    const open = groups.at(-1);
    if (open === undefined || starts(line)) groups.push([line]);
    else open.push(line);
  }
  return groups;
}
