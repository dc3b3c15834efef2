/**
 * How long a pattern of a server may take on a text, before it is tried: a regular expression that backtracks would
 * freeze the page, and nothing can interrupt it. An upper bound in steps; infinite where the form alone does not tell.
 */
export function patternCost(pattern: string, length: number): number {
  const groups: Group[] = [{ choices: 1, loops: 0, branches: false }];
  const top = () => groups[groups.length - 1] as Group;
  let last: Group | undefined;

  for (let at = 0; at < pattern.length; at += 1) {
    const sign = pattern[at];
    if (sign === '\\') {
      at += 1;
      if (/[1-9k]/.test(pattern[at] ?? '')) return Number.POSITIVE_INFINITY;
      last = undefined;
    } else if (sign === '[') {
      at = endOfClass(pattern, at);
      last = undefined;
    } else if (sign === '(') {
      if (/^\(\?(?!:)/.test(pattern.slice(at, at + 3)) && !/^\(\?<[a-z]/i.test(pattern.slice(at, at + 4))) {
        return Number.POSITIVE_INFINITY; // it looks ahead or behind, or sets flags
      }
      groups.push({ choices: 1, loops: 0, branches: false });
    } else if (sign === ')') {
      last = groups.pop();
      if (last === undefined || groups.length === 0) return Number.POSITIVE_INFINITY;
      top().choices *= last.choices;
      top().loops += last.loops;
    } else if (sign === '|') {
      top().branches = true;
      top().choices *= 2;
    } else if (sign === '?') {
      top().choices *= 2;
    } else if (sign === '*' || sign === '+' || (sign === '{' && /^\{\d+,/.test(pattern.slice(at, at + 12)))) {
      if (last !== undefined && isAmbiguous(last)) return Number.POSITIVE_INFINITY;
      top().loops += 1;
    } else if (sign === '{' && last !== undefined && isAmbiguous(last)) {
      return Number.POSITIVE_INFINITY;
    } else if (sign !== '{' && sign !== '}') last = undefined;
  }
  const { choices, loops } = top();
  return choices * Math.max(length, 1) ** (loops + 1);
}

interface Group {
  choices: number;
  loops: number;
  branches: boolean;
}

/** Repeated, such a group can match one text in very many ways. */
const isAmbiguous = ({ choices, loops, branches }: Group) => branches || loops > 0 || choices > 1;

function endOfClass(pattern: string, start: number): number {
  let at = start + 1;
  while (at < pattern.length && pattern[at] !== ']') at += pattern[at] === '\\' ? 2 : 1;
  return at;
}
