/** Whether a name matches a pattern in which "*" stands for any characters, in linear time. */
export function matchesPattern(pattern: string, name: string): boolean {
  const [start = '', ...parts] = pattern.split('*');
  const end = parts.pop();
  if (end === undefined) return pattern === name;
  if (!name.startsWith(start)) return false;
  let at = start.length;
  // The first place where a part fits leaves the most for the others.
  for (const part of parts) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length - end.length >= at && name.endsWith(end);
}
