/**
 * The commands in the Markdown pages. Every block of `sh` and `console` is run, unless the line before it names what runs
 * it instead (`<!-- run by: <file> -->`) or why it cannot be run here (`<!-- not run: <reason> -->`).
 */

export interface Step {
  line: number;
  /** One command, or all of a `sh` block. */
  command: string;
  /** What the page says it prints; undefined where it says nothing. */
  output?: string;
}

export interface Block {
  language: string;
  line: number;
  /** What is written above it. */
  mark?: { kind: 'run by' | 'not run'; what: string };
  steps: Step[];
}

const mark = /^ *<!-- (run by|not run): (.+) -->$/;

export function blocksOf(page: string): Block[] {
  const lines = page.split('\n');
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const language = /^ *```(\w*)$/.exec(lines[at] ?? '')?.[1];
    if (language === undefined) continue;
    const end = lines.findIndex((line, place) => place > at && /^ *```$/.test(line));
    const [, kind, what = ''] = mark.exec(lines[at - 1] ?? '') ?? [];
    blocks.push({
      language,
      line: at + 1,
      ...(kind === 'run by' || kind === 'not run' ? { mark: { kind, what } } : {}),
      steps: stepsOf(language, lines.slice(at + 1, end), at + 2),
    });
    at = end;
  }
  return blocks;
}

function stepsOf(language: string, lines: string[], first: number): Step[] {
  if (language === 'sh') return [{ line: first, command: lines.join('\n') }];
  if (language !== 'console') return [];
  const steps: Step[] = [];
  let isContinued = false;
  for (const [at, line] of lines.entries()) {
    const last = steps.at(-1);
    if (line.startsWith('$ ')) steps.push({ line: first + at, command: line.slice(2) });
    else if (isContinued && last !== undefined) last.command += `\n${line}`;
    else if (last !== undefined && (line !== '' || last.output !== undefined))
      last.output = last.output === undefined ? line : `${last.output}\n${line}`;
    isContinued = (line.startsWith('$ ') || isContinued) && line.endsWith('\\');
  }
  return steps.map(({ output, ...step }) => (output === undefined ? step : { ...step, output: output.trimEnd() }));
}

/** What differs from run to run: ids, versions, times, scores. `…` stands for anything. */
const varying =
  /…|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|mcpa_[0-9a-f]{16}_|\d+\.\d+\.\d+|\d+\.\d+(?= ms)|\b0\.\d\d\b/g;

export function patternOf(output: string): RegExp {
  const parts = output.split(varying).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[\\s\\S]*?')}$`);
}
