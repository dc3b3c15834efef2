/** The instructions of several servers under their names, within a budget that short ones leave to long ones. Pure. */

interface Instructed {
  readonly name: string;
  readonly instructions: string | null;
}

/** About 2,000 tokens: every client sends them to its model with each conversation. */
const maxChars = 8_000;

export function joinInstructions(servers: readonly Instructed[], budget = maxChars): string[] {
  const given = servers.flatMap(({ name, instructions }) => {
    const text = instructions?.trim() ?? '';
    return text === '' ? [] : [{ name, text }];
  });
  const shares = sharesOf(
    given.map(({ text }) => text.length),
    budget,
  );
  return given.map(({ name, text }, at) => `## ${name}\n${cut(text, shares[at] ?? 0)}`);
}

/** How much of each length fits, in their order. */
function sharesOf(lengths: readonly number[], budget: number): number[] {
  const shares: number[] = [];
  let rest = budget;
  const shortestFirst = lengths.map((length, at) => ({ length, at })).sort((a, b) => a.length - b.length);
  for (const [number, { length, at }] of shortestFirst.entries()) {
    const share = Math.min(length, Math.floor(rest / (lengths.length - number)));
    shares[at] = share;
    rest -= share;
  }
  return shares;
}

/** At the end of a line or a word, where there is one. */
function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const beginning = text.slice(0, length);
  const end = Math.max(beginning.lastIndexOf('\n'), beginning.lastIndexOf(' '));
  return `${end > length / 2 ? beginning.slice(0, end) : beginning}…`;
}
