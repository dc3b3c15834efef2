/** Size and depth of JSON values, without recursion, because foreign values may be nested too deeply for the stack. */

/** The approximate size of the value as JSON and its depth. Stops counting beyond `maxBytes`. */
export function jsonSize(value: unknown, maxBytes = Number.POSITIVE_INFINITY): { bytes: number; depth: number } {
  let bytes = 0;
  let deepest = 0;
  walk(value, (one, depth) => {
    if (depth > deepest) deepest = depth;
    if (typeof one === 'string') bytes += Buffer.byteLength(one) + 2;
    else if (typeof one !== 'object' || one === null) bytes += 4;
    else if (Array.isArray(one)) bytes += 2 + one.length;
    else for (const key in one) bytes += Buffer.byteLength(key) + 4;
    return bytes <= maxBytes;
  });
  return { bytes, depth: deepest };
}

export function isDeeperThan(value: unknown, levels: number): boolean {
  let isDeeper = false;
  walk(value, (_one, depth) => {
    isDeeper = depth > levels;
    return !isDeeper;
  });
  return isDeeper;
}

/** Deeper values can be parsed but not serialized, because `JSON.stringify` is recursive. */
export const maxBodyDepth = 1_000;

/** Checks a request body as text, before recursive code processes it. */
export function isBodyTooDeep(text: string): boolean {
  if (text.length <= maxBodyDepth) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at);
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth -= 1;
    if (depth > maxBodyDepth) return true;
  }
  return false;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

/** Stops when `visit` returns false. */
function walk(root: unknown, visit: (value: unknown, depth: number) => boolean): void {
  const values: unknown[] = [root];
  const depths: number[] = [0];
  while (values.length > 0) {
    const value = values.pop();
    const depth = depths.pop() ?? 0;
    if (!visit(value, depth)) return;
    if (typeof value !== 'object' || value === null) continue;
    const inner: unknown[] = Array.isArray(value) ? value : Object.values(value);
    for (const one of inner) {
      values.push(one);
      depths.push(depth + 1);
    }
  }
}
