/** The marks in a context that lead to its sources. Pure. */
import type { ContextOutput } from './context-tool.ts';
import { estimateTokens } from './results/tokens.ts';

/** Something that was read, with the mark under which the model may cite it. */
export interface CitedSource {
  server: string;
  tool: string;
  title?: string;
  link?: string;
  content: string;
}

/** "[S1]", "[S1, S2]". */
const marks = /\[S\d{1,4}(?:, ?S\d{1,4}){0,20}\]/g;
const numbersIn = (mark: string): number[] => (mark.match(/\d+/g) ?? []).map(Number);

/** Without marks of sources that do not exist: a citation must lead somewhere. */
export function withKnownMarks(context: string, sources: number): string {
  return context.replaceAll(marks, (mark) => {
    const known = numbersIn(mark).filter((number) => number >= 1 && number <= sources);
    return known.length === 0 ? '' : `[${known.map((number) => `S${number}`).join(', ')}]`;
  });
}

/** Every source that the context names, in the order of their marks. */
export function citationsIn(context: string, sources: readonly CitedSource[]): ContextOutput['citations'] {
  const cited = new Set([...context.matchAll(marks)].flatMap(([mark]) => numbersIn(mark)));
  return sources.flatMap(({ server, tool, title, link }, at) =>
    cited.has(at + 1)
      ? [
          {
            source: `S${at + 1}`,
            server,
            tool,
            ...(title === undefined ? {} : { title }),
            ...(link === undefined ? {} : { link }),
          },
        ]
      : [],
  );
}

/** At most so many tokens, and a sign that something is missing. */
export function cutToTokens(text: string, maxTokens: number): string {
  let end = text.length;
  while (end > 0 && estimateTokens(text.slice(0, end)) > maxTokens) end = Math.floor(end * 0.95);
  return end === text.length ? text : `${text.slice(0, end).trimEnd()}…`;
}
