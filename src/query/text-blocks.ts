/** One piece of a text answer, before it becomes an item. */
export interface TextPiece {
  text: string;
  title?: string;
  link?: string;
}

/** Longer pieces are divided at paragraphs: one page-long item would drown the others in any budget. */
export const longestPieceChars = 6000;

const heading = /^#{1,6}\s+(.+?)\s*#*\s*$/;
const rule = /^\s*(?:-{3,}|\*{3,}|_{3,}|={3,})\s*$/;
const numbered = /^(?:\[(\d{1,4})\]|(\d{1,4})[.)])\s+\S/;
const bullet = /^[-*+•]\s+\S/;
const fence = /^\s*(?:```|~~~)/;

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

interface Section {
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

function splitAtRules(lines: Line[]): Line[][] {
  return groupBy(lines, (line) => !line.inCode && rule.test(line.text)).map((group) =>
    group.filter((line) => line.inCode || !rule.test(line.text)),
  );
}

function splitSection(lines: Line[]): Section[] {
  const isHeading = (line: Line): boolean => !line.inCode && heading.test(line.text);
  if (!lines.some(isHeading)) return splitHits({ lines });
  return joinBareHeadings(groupBy(lines, isHeading)).flatMap((group) => {
    const title = group.map((line) => heading.exec(line.text)?.[1]).find((found) => found !== undefined);
    return splitHits({ lines: group, title });
  });
}

/** A heading with nothing below it (a page title above its first section) belongs to the section that follows. */
function joinBareHeadings(groups: Line[][]): Line[][] {
  const joined: Line[][] = [];
  let pending: Line[] = [];
  for (const group of groups) {
    const isBare = group.every((line) => heading.test(line.text) || line.text.trim() === '');
    if (isBare) pending = [...pending, ...group];
    else {
      joined.push([...pending, ...group]);
      pending = [];
    }
  }
  if (pending.length > 0) joined.push(pending);
  return joined;
}

function splitHits(section: Section): Section[] {
  for (const start of [numbered, bullet]) {
    const isStart = (line: Line): boolean => !line.inCode && start.test(line.text);
    const starts = section.lines.filter(isStart).length;
    if (starts < 2) continue;
    const groups = groupBy(section.lines, isStart);
    // Short bullets are one list that belongs together, hits carry text of their own.
    const length = section.lines.reduce((sum, line) => sum + line.text.length, 0);
    if (start === bullet && length / starts < 60) continue;
    const [lead = [], ...hits] = isStart(groups[0]?.[0] ?? { text: '', inCode: true }) ? [[], ...groups] : groups;
    const leadText = textOf(lead.filter((line) => !heading.test(line.text)));
    const before: Section[] = leadText.length > 80 ? [{ lines: lead, title: section.title }] : [];
    return [...before, ...hits.map((lines) => ({ lines }))];
  }
  return splitParagraphs(section);
}

/** With a heading the section is one piece unless it is long; without one every paragraph stands for itself. */
function splitParagraphs(section: Section): Section[] {
  if (section.title !== undefined && textOf(section.lines).length <= longestPieceChars) return [section];
  const paragraphs = groupBy(section.lines, (line) => !line.inCode && line.text.trim() === '');
  const pieces: Section[] = [];
  let open: Line[] = [];
  for (const paragraph of paragraphs) {
    open = [...open, ...paragraph];
    const length = textOf(open).length;
    // A line like "Result:" announces the next paragraph and means nothing alone.
    if (length < (section.title === undefined ? 60 : longestPieceChars / 2)) continue;
    pieces.push({ lines: open, title: section.title });
    open = [];
  }
  if (textOf(open).length > 0) pieces.push({ lines: open, title: section.title });
  return pieces;
}

const markdownLink = /\[([^\]\n]{1,300})\]\((https?:\/\/[^\s)]+)\)/;
const bareLink = /https?:\/\/[^\s<>")\]]+/;
const titleLine = /^(?:\*\*)?(?:title|name)(?:\*\*)?\s*:\s*(?:\*\*)?\s*(.+)$/im;
const bold = /^\s*(?:[-*+•]|\[?\d{1,4}[.)\]])?\s*\*\*(.{1,200}?)\*\*/;

function describePiece(section: Section): TextPiece {
  const text = textOf(section.lines);
  const linked = markdownLink.exec(text);
  const hit = numbered.test(text) ? text.split('\n', 1)[0]?.replace(/^\[?\d{1,4}[.)\]]\s+/, '') : undefined;
  const title = section.title ?? titleLine.exec(text)?.[1] ?? bold.exec(text)?.[1] ?? linked?.[1] ?? hit;
  const link = linked?.[2] ?? bareLink.exec(text)?.[0]?.replace(/[.,;:]+$/, '');
  return { text, title: title?.trim().slice(0, 200), link };
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
