/** Changes one member of a JSON file and leaves every other byte as its owner wrote it: comments, order, indentation. */

interface Member {
  key: string;
  keyStart: number;
  valueStart: number;
  valueEnd: number;
}

interface ObjectSpan {
  open: number;
  close: number;
  members: Member[];
}

export function setMember(text: string, path: readonly string[], value: unknown): string {
  if (text.trim() === '') return `${JSON.stringify(nest(path, value), null, 2)}\n`;
  const { object, found, rest } = locate(text, path);
  const [key = '', ...inner] = rest;
  const step = indentStep(text);
  const depth = path.length - rest.length + 1;
  const shown = (content: unknown) => JSON.stringify(content, null, step).replaceAll('\n', `\n${step.repeat(depth)}`);
  if (found !== undefined) return text.slice(0, found.valueStart) + shown(value) + text.slice(found.valueEnd);

  const line = `\n${step.repeat(depth)}${JSON.stringify(key)}: ${shown(nest(inner, value))}`;
  const last = object.members.at(-1);
  if (last === undefined) {
    const comments = text.slice(object.open + 1, object.close).trimEnd();
    return `${text.slice(0, object.open + 1)}${comments}${line}\n${step.repeat(depth - 1)}${text.slice(object.close)}`;
  }
  const comma = skipBlank(text, last.valueEnd);
  const hasComma = text[comma] === ',';
  const at = hasComma ? comma + 1 : last.valueEnd;
  return `${text.slice(0, at)}${hasComma ? '' : ','}${line}${hasComma ? ',' : ''}${text.slice(at)}`;
}

/** The same text where there is no such member. */
export function removeMember(text: string, path: readonly string[]): string {
  if (text.trim() === '') return text;
  const { object, found } = locate(text, path);
  if (found === undefined) return text;
  const place = object.members.indexOf(found);
  const [before, next] = [object.members[place - 1], object.members[place + 1]];
  if (before !== undefined) return text.slice(0, before.valueEnd) + text.slice(found.valueEnd);
  if (next !== undefined) return text.slice(0, found.keyStart) + text.slice(next.keyStart);
  return text.slice(0, object.open + 1) + text.slice(object.close);
}

function nest(path: readonly string[], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
}

/** The deepest object on the path that exists, the member at its end if it is there, and the keys that are not. */
function locate(text: string, path: readonly string[]): { object: ObjectSpan; found?: Member; rest: string[] } {
  let object = objectAt(text, skipBlank(text, text.startsWith('\uFEFF') ? 1 : 0));
  for (const [depth, key] of path.entries()) {
    const member = object.members.find((each) => each.key === key);
    if (member === undefined) return { object, rest: path.slice(depth) };
    if (depth === path.length - 1) return { object, found: member, rest: [key] };
    object = objectAt(text, member.valueStart);
  }
  throw new SyntaxError('a path has at least one key');
}

function objectAt(text: string, open: number): ObjectSpan {
  if (text[open] !== '{') throw new SyntaxError('a JSON object was expected');
  const members: Member[] = [];
  let at = skipBlank(text, open + 1);
  while (text[at] !== '}') {
    const keyStart = at;
    const keyEnd = valueEnd(text, keyStart);
    const colon = skipBlank(text, keyEnd);
    if (text[keyStart] !== '"' || text[colon] !== ':') throw new SyntaxError(`a member was expected at ${keyStart}`);
    const valueStart = skipBlank(text, colon + 1);
    const end = valueEnd(text, valueStart);
    members.push({ key: JSON.parse(text.slice(keyStart, keyEnd)) as string, keyStart, valueStart, valueEnd: end });
    at = skipBlank(text, end);
    if (text[at] === ',') at = skipBlank(text, at + 1);
    else if (text[at] !== '}') throw new SyntaxError(`a comma was expected at ${at}`);
  }
  return { open, close: at, members };
}

function valueEnd(text: string, start: number): number {
  if (text[start] === '"') return stringEnd(text, start);
  if (text[start] !== '{' && text[start] !== '[') {
    const end = text.slice(start).search(/[\s,}\]/]|$/);
    if (end <= 0) throw new SyntaxError(`a value was expected at ${start}`);
    return start + end;
  }
  let depth = 0;
  for (let at = start; at < text.length; at = skipBlank(text, at)) {
    const character = text[at];
    if (character === '"') {
      at = stringEnd(text, at);
      continue;
    }
    if (character === '{' || character === '[') depth += 1;
    if (character === '}' || character === ']') depth -= 1;
    at += 1;
    if (depth === 0) return at;
  }
  throw new SyntaxError('the file ends in the middle of a value');
}

function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at + 1;
  }
  throw new SyntaxError('the file ends in the middle of a string');
}

/** Past white space and comments. */
function skipBlank(text: string, start: number): number {
  const blank = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
  blank.lastIndex = start;
  return start + (blank.exec(text)?.[0].length ?? 0);
}

function indentStep(text: string): string {
  return /^\{[^"]*?\n([ \t]+)"/.exec(text.trimStart())?.[1] ?? '  ';
}
