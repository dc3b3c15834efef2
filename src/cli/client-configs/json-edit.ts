/** Changes one member of a JSON file and keeps all other bytes: comments, order, indentation. */
import { createScanner, findNodeAtLocation, type Node, parseTree, type SyntaxKind } from 'jsonc-parser';
import { parseClientConfig } from '../../registry/import.ts';
import { checkEdit, UneditableConfig } from './uneditable.ts';

/** The library declares its tokens as a `const enum`, which does not exist at run time. */
const commaToken: SyntaxKind = 5;

type Path = readonly [list: string, name: string];

export function setMember(text: string, path: Path, value: unknown): string {
  const [list, name] = path;
  const document = readDocument(text);
  if (document[list] !== undefined && !isObject(document[list])) {
    throw new UneditableConfig(`The entry "${name}" cannot be edited: "${list}" is not an object.`);
  }
  const edited = onBody(text, (body) => insertMember(body, path, value));
  const expected = { ...document, [list]: { ...membersOf(document[list]), [name]: value } };
  checkEdit(name, () => readDocument(edited), JSON.parse(JSON.stringify(expected)));
  return edited;
}

/** Returns the text unchanged if the member does not exist. */
export function removeMember(text: string, path: Path): string {
  const [list, name] = path;
  const document = readDocument(text);
  const { [name]: removed, ...others } = membersOf(document[list]);
  if (removed === undefined) return text;
  const edited = onBody(text, (body) => cutMember(body, path));
  checkEdit(name, () => readDocument(edited), { ...document, [list]: others });
  return edited;
}

/** Not the library's `modify`, which would also reformat surrounding lines. */
function insertMember(text: string, path: Path, value: unknown): string {
  const document = parseTree(text, [], { allowTrailingComma: true });
  const step = indentStep(text);
  if (document === undefined) return `${JSON.stringify({ [path[0]]: { [path[1]]: value } }, null, step)}\n`;
  const list = findNodeAtLocation(document, [path[0]]);
  const depth = list === undefined ? 1 : 2;
  const shown = (content: unknown) => JSON.stringify(content, null, step).replaceAll('\n', `\n${step.repeat(depth)}`);
  const found = findNodeAtLocation(document, [...path]);
  if (found !== undefined) return splice(text, found.offset, endOf(found), shown(value));

  const [key, content] = list === undefined ? [path[0], { [path[1]]: value }] : [path[1], value];
  const line = `\n${step.repeat(depth)}${JSON.stringify(key)}: ${shown(content)}`;
  const object = list ?? document;
  const last = object.children?.at(-1);
  if (last === undefined) {
    const close = endOf(object) - 1;
    const comments = text.slice(object.offset + 1, close).trimEnd();
    return splice(text, object.offset + 1, close, `${comments}${line}\n${step.repeat(depth - 1)}`);
  }
  const comma = commaAfter(text, endOf(last));
  return comma === undefined
    ? splice(text, endOf(last), endOf(last), `,${line}`)
    : splice(text, comma + 1, comma + 1, `${line},`);
}

function cutMember(text: string, path: Path): string {
  const property = findNodeAtLocation(parseTree(text, [], { allowTrailingComma: true }) as Node, [...path])?.parent;
  const object = property?.parent;
  if (property === undefined || object === undefined) return text;
  const members = object.children ?? [];
  const place = members.indexOf(property);
  const [before, next] = [members[place - 1], members[place + 1]];
  if (before !== undefined) return splice(text, endOf(before), endOf(property), '');
  if (next !== undefined) return splice(text, property.offset, next.offset, '');
  return splice(text, object.offset + 1, endOf(object) - 1, '');
}

const endOf = ({ offset, length }: Node) => offset + length;
const splice = (text: string, start: number, end: number, put: string) => text.slice(0, start) + put + text.slice(end);

function commaAfter(text: string, start: number): number | undefined {
  const scanner = createScanner(text, true);
  scanner.setPosition(start);
  return scanner.scan() === commaToken ? scanner.getTokenOffset() : undefined;
}

export function readDocument(text: string): Record<string, unknown> {
  let document: unknown;
  try {
    document = text.trim() === '' ? {} : parseClientConfig(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new UneditableConfig('The file is not valid JSON. Fix it first.', error);
  }
  if (isObject(document)) return document;
  throw new UneditableConfig('The file is not valid: a JSON object was expected.');
}

const membersOf = (list: unknown) => (isObject(list) ? list : {});

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function indentStep(text: string): string {
  return /^\{[^"]*?\n([ \t]+)"/.exec(text.trimStart())?.[1] ?? '  ';
}

function onBody(text: string, edit: (body: string) => string): string {
  return text.startsWith('\uFEFF') ? `\uFEFF${edit(text.slice(1))}` : edit(text);
}
