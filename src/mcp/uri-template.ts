/**
 * Whether a URI may come from a template (RFC 6570), as far as finding its server needs it: an expression stands for
 * any characters but a slash, one with an operator for any at all.
 *
 * Not by a regular expression: servers write the templates, and a few expressions in a row would keep one busy for ever.
 */
export function matchesTemplate(
  template: string,
  uri: string,
  work: ComparisonBudget = { left: Number.POSITIVE_INFINITY },
): boolean {
  if (template.length > longest || uri.length > longest) return false;
  const [start = '', ...parts] = partsOf(template);
  if (!uri.startsWith(start) || parts.length > 2 * maxExpressions || !hasTexts(parts, uri, start.length)) return false;
  /** Where what the parts so far stand for may end. */
  let ends = new Uint8Array(uri.length + 1);
  ends[start.length] = 1;
  for (const [place, part] of parts.entries()) {
    work.left -= uri.length;
    if (work.left < 0) return false;
    ends = place % 2 === 0 ? pastExpression(part, uri, ends) : pastText(part, uri, ends);
  }
  return ends[uri.length] === 1;
}

/** What may still be done; servers choose how many templates they have and how long they are. */
export interface ComparisonBudget {
  left: number;
}

/** Texts and expressions in turn, beginning and ending with a text. */
function partsOf(template: string): string[] {
  const parts: string[] = [];
  let at = 0;
  for (let start = template.indexOf('{'); start !== -1; start = template.indexOf('{', at)) {
    const end = template.indexOf('}', start);
    if (end === -1) break;
    parts.push(template.slice(at, start), template.slice(start, end + 1));
    at = end + 1;
  }
  return [...parts, template.slice(at)];
}

/** All texts one after the other: most templates that do not fit are told by this. */
function hasTexts(parts: readonly string[], uri: string, from: number): boolean {
  let at = from;
  for (let place = 1; place < parts.length; place += 2) {
    const text = parts[place] ?? '';
    const found = uri.indexOf(text, at);
    if (found === -1) return false;
    at = found + text.length;
  }
  return true;
}

const longest = 2_048;
const maxExpressions = 50;

function pastExpression(expression: string, uri: string, before: Uint8Array): Uint8Array<ArrayBuffer> {
  const hasOperator = /^\{[+#/?&;.]/.test(expression);
  const ends = new Uint8Array(uri.length + 1);
  let reached = false;
  for (let end = 0; end <= uri.length; end += 1) {
    if (end > 0 && uri[end - 1] === '/' && !hasOperator) reached = false;
    if (before[end] === 1) reached = true;
    if (reached) ends[end] = 1;
  }
  return ends;
}

function pastText(text: string, uri: string, before: Uint8Array): Uint8Array<ArrayBuffer> {
  if (text === '') return Uint8Array.from(before);
  const ends = new Uint8Array(uri.length + 1);
  for (let at = uri.indexOf(text); at !== -1; at = uri.indexOf(text, at + 1)) {
    if (before[at] === 1) ends[at + text.length] = 1;
  }
  return ends;
}
