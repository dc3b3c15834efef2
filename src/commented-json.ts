/** JSON with the comments and trailing commas that VS Code and people write, with or without a byte order mark. */
export function parseCommentedJson(text: string): unknown {
  // Scanned by hand: a pattern for strings runs out of stack on the megabytes that some clients keep in such files.
  const parts: string[] = [];
  let comma: number | undefined;
  for (let at = text.startsWith('\uFEFF') ? 1 : 0; at < text.length; ) {
    const end = tokenEnd(text, at);
    const token = text.slice(at, end);
    at = end;
    if (token.startsWith('//') || token.startsWith('/*')) continue;
    if ((token === '}' || token === ']') && comma !== undefined) parts[comma] = '';
    if (token === ',') comma = parts.length;
    else if (token.trim() !== '') comma = undefined;
    parts.push(token);
  }
  return JSON.parse(parts.join(''));
}

/** Where the string, the comment or the single character that begins here ends. */
function tokenEnd(text: string, start: number): number {
  const until = (mark: string, from: number) => {
    const found = text.indexOf(mark, from);
    return found === -1 ? text.length : found + mark.length;
  };
  if (text.startsWith('//', start)) return until('\n', start);
  if (text.startsWith('/*', start)) return until('*/', start + 2);
  if (text[start] !== '"') return start + 1;
  let end = until('"', start + 1);
  while (end < text.length && isEscaped(text, end - 1)) end = until('"', end);
  return end;
}

function isEscaped(text: string, position: number): boolean {
  let backslashes = 0;
  while (text[position - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}
