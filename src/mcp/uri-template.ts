/**
 * Whether a URI may come from a template (RFC 6570), as far as finding its server needs it: an expression stands for
 * any characters but a slash, one with an operator for any at all.
 *
 * Not by a regular expression: servers write the templates, and a few expressions in a row would keep one busy for ever.
 */
export function matchesTemplate(template: string, uri: string): boolean {
  if (template.length > longest || uri.length > longest) return false;
  const [start = '', ...parts] = template.split(/(\{[^}]*\})/);
  if (!uri.startsWith(start) || parts.length > 2 * maxExpressions) return false;
  /** Where what the parts so far stand for may end. */
  let ends = new Uint8Array(uri.length + 1);
  ends[start.length] = 1;
  for (const [place, part] of parts.entries()) {
    ends = place % 2 === 0 ? pastExpression(part, uri, ends) : pastText(part, uri, ends);
  }
  return ends[uri.length] === 1;
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
