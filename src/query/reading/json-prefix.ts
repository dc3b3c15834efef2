/**
 * The longest beginning of a JSON text that is within `maxChars` and ends after a whole element of its outermost array,
 * closed so that it parses. Undefined when there is no such element. Reads no further than `maxChars`, so a huge answer
 * costs no more than a large one.
 */
export function jsonPrefix(text: string, maxChars: number): string | undefined {
  const open: string[] = [];
  let listDepth = 0;
  let boundary = -1;
  let closers = '';
  let inString = false;
  for (let i = 0; i < Math.min(text.length, maxChars); i++) {
    const character = text[i];
    if (inString) {
      if (character === '\\') i++;
      else if (character === '"') inString = false;
      continue;
    }
    if (character === '"') inString = true;
    else if (character === '{') open.push('}');
    else if (character === '[') {
      open.push(']');
      if (listDepth === 0) listDepth = open.length;
      if (listDepth > maxListDepth) return undefined;
    } else if (character === '}' || character === ']') open.pop();
    else if (character === ',' && listDepth > 0 && open.length === listDepth) {
      boundary = i;
      closers = open.toReversed().join('');
    }
  }
  return boundary < 0 ? undefined : copyOf(text, boundary) + closers;
}

/** Deeper lists are no lists of records. */
const maxListDepth = 32;

/** A true copy: a slice would keep the whole answer in memory for as long as the piece lives. */
export function copyOf(text: string, length: number): string {
  return Buffer.from(text.slice(0, length), 'utf8').toString('utf8');
}
