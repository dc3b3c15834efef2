/** Answers about several files in one text, taken apart by file. */
import { type AnswerPart, type ParsedAnswer, parseAnswer } from './answer.ts';

interface Section {
  part: ParsedAnswer;
  title?: string;
}

/** What a search prints as `path:12: text`: one text for each place in a file. */
export function groupByFile(answer: ParsedAnswer): ParsedAnswer {
  const parts = answer.parts.flatMap((part): AnswerPart[] =>
    part.kind === 'text' ? (hitsByFile(part.text) ?? [part]) : [part],
  );
  return { ...answer, parts };
}

const hitLine = /^((?:[A-Za-z]:)?[^\s:][^:\n]{0,300})[:-](\d{1,7})[:-](.*)$/;
const maxHitLines = 2_000;
const charsPerPlace = 1_500;

function hitsByFile(text: string): AnswerPart[] | undefined {
  const lines = text.split('\n', maxHitLines).filter((line) => line.trim() !== '' && line !== '--');
  const places: { path: string; last: number; lines: string[] }[] = [];
  let hits = 0;
  for (const line of lines) {
    const match = hitLine.exec(line.slice(0, 1_000));
    if (match?.[1] === undefined || !looksLikePath(match[1])) continue;
    hits += 1;
    const number = Number(match[2]);
    const before = places.at(-1);
    // Lines that are far from one another have nothing to do with one another.
    if (
      before !== undefined &&
      before.path === match[1] &&
      Math.abs(number - before.last) <= nearLines &&
      before.lines.length < maxLinesTogether
    ) {
      before.lines.push(match[3] ?? '');
      before.last = number;
    } else places.push({ path: match[1], last: number, lines: [match[3] ?? ''] });
  }
  if (hits < 1 || hits < 0.6 * lines.length) return undefined;
  return places.map(({ path, lines: found }) => ({
    kind: 'text',
    text: `## ${path}\n${found.join('\n').slice(0, charsPerPlace)}`,
    uri: path,
  }));
}

const nearLines = 2;
const maxLinesTogether = 12;

/** A date before a time ("2026-05-25 09:15") is no path. */
const looksLikePath = (text: string): boolean =>
  /[A-Za-z]/.test(text) && (text.includes('/') || text.includes('\\') || /^\S+\.\w+$/.test(text));

/** Where several things were read at once, each answer begins with the name that was sent: "notes/a.md:". */
export function sectionsOf(answer: ParsedAnswer, titles: readonly string[]): Section[] {
  if (titles.length === 0) return [{ part: answer }];
  return answer.parts.flatMap((part): Section[] => {
    const alone = { ...answer, parts: [part] };
    return part.kind === 'text' ? (byTitle(part.text, titles) ?? [{ part: alone }]) : [{ part: alone }];
  });
}

function byTitle(text: string, titles: readonly string[]): Section[] | undefined {
  const known = new Set(titles.map(plain));
  const sections: { title?: string; lines: string[] }[] = [{ lines: [] }];
  for (const line of text.split('\n')) {
    // Only a line of about a name's length can be one.
    const name = line.length < 600 ? nameIn(line) : undefined;
    const isTitle = name !== undefined && known.has(plain(name));
    const failure = isTitle ? undefined : failed(line, known);
    if (isTitle || failure !== undefined) sections.push({ title: name, lines: [] });
    else sections.at(-1)?.lines.push(line);
  }
  if (sections.length < 2) return undefined;
  return sections
    .filter(
      ({ title, lines }) => title !== undefined && lines.some((line) => line.trim() !== '' && line.trim() !== '---'),
    )
    .map(({ title, lines }) => {
      const body = lines
        .join('\n')
        .replace(/\n-{3,}\s*$/, '')
        .trim();
      return { title, part: parseAnswer({ content: [{ type: 'text', text: body }] }, body.length) };
    });
}

/** "## notes/a.md:", "=== notes/a.md ===" → "notes/a.md". */
function nameIn(line: string): string | undefined {
  const text = line.trim();
  let [start, end] = [0, text.length];
  while (start < end && /[#*\s=-]/.test(text[start] ?? '')) start += 1;
  if (text[end - 1] === ':') end -= 1;
  else while (end > start && /[*=-]/.test(text[end - 1] ?? '')) end -= 1;
  const name = text.slice(start, end).trimEnd();
  return name === '' ? undefined : name;
}

const plain = (name: string): string => name.replace(/^[/`"']+|[`"']+$/g, '');

/** "notes/gone.md: Error - no such file" is no content. */
function failed(line: string, known: ReadonlySet<string>): string | undefined {
  const match = /^(.{1,500}?): (?:Error|ENOENT|Failed)/.exec(line.slice(0, 700));
  return match?.[1] !== undefined && known.has(plain(match[1])) ? match[1] : undefined;
}
