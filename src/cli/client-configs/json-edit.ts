/** Changes one member of a JSON file and keeps all other bytes: comments, order, indentation. */
import { createScanner, findNodeAtLocation, type Node, parseTree, type SyntaxKind } from 'jsonc-parser';
import { parseCommentedJson } from '../../commented-json.ts';
import { checkEdit, UneditableConfig } from './uneditable.ts';

/** The library declares its tokens as a `const enum`, which does not exist at run time. */
const commaToken: SyntaxKind = 5;

type Path = readonly string[];

export function setMember(text: string, path: Path, value: unknown): string {
  const name = path.at(-1) ?? '';
  const document = readDocument(text);
  const wrong = path.slice(0, -1).findIndex((_key, at) => {
    const found = valueAt(document, path.slice(0, at + 1));
    return found !== undefined && !isObject(found);
  });
  if (wrong !== -1) {
    throw new UneditableConfig(`The entry "${name}" cannot be edited: "${path[wrong]}" is not an object.`);
  }
  const edited = onBody(text, (body) => insertMember(body, path, value));
  checkEdit(name, () => readDocument(edited), JSON.parse(JSON.stringify(withValue(document, path, value))));
  return edited;
}

/** Returns the text unchanged if the member does not exist. */
export function removeMember(text: string, path: Path): string {
  const document = readDocument(text);
  if (valueAt(document, path) === undefined) return text;
  const edited = onBody(text, (body) => cutMember(body, path));
  checkEdit(path.at(-1) ?? '', () => readDocument(edited), withValue(document, path, undefined));
  return edited;
}

function valueAt(document: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), document);
}

/** The document with another value at the path; undefined removes it. */
function withValue(
  document: Record<string, unknown>,
  [key = '', ...rest]: Path,
  value: unknown,
): Record<string, unknown> {
  const { [key]: before, ...others } = document;
  if (rest.length > 0) return { ...document, [key]: withValue(membersOf(before), rest, value) };
  return value === undefined ? others : { ...document, [key]: value };
}

const nested = (path: Path, value: unknown): unknown =>
  path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);

/** Not the library's `modify`, which would also reformat surrounding lines. */
function insertMember(text: string, path: Path, value: unknown): string {
  const document = parseTree(text, [], { allowTrailingComma: true });
  const step = indentStep(text);
  if (document === undefined) return `${JSON.stringify(nested(path, value), null, step)}\n`;
  const found = findNodeAtLocation(document, [...path]);
  const shown = (content: unknown, depth: number) =>
    JSON.stringify(content, null, step).replaceAll('\n', `\n${step.repeat(depth)}`);
  if (found !== undefined) return splice(text, found.offset, endOf(found), shown(value, path.length));

  // As far as the path exists.
  let known = path.length - 1;
  while (known > 0 && findNodeAtLocation(document, path.slice(0, known)) === undefined) known -= 1;
  const depth = known + 1;
  const content = nested(path.slice(known + 1), value);
  const line = `\n${step.repeat(depth)}${JSON.stringify(path[known])}: ${shown(content, depth)}`;
  const object = (known === 0 ? undefined : findNodeAtLocation(document, path.slice(0, known))) ?? document;
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

/** The text with all string values masked but those of one member. */
export function maskMembers(text: string, keep: Path): string {
  const document = text.trim() === '' ? undefined : parseTree(text, [], { allowTrailingComma: true });
  if (document === undefined) return text;
  const kept = findNodeAtLocation(document, [...keep]);
  const values: Node[] = [];
  const visit = (node: Node): void => {
    if (node === kept) return;
    if (node.type === 'string') values.push(node);
    for (const child of node.type === 'property' ? (node.children?.slice(1) ?? []) : (node.children ?? []))
      visit(child);
  };
  visit(document);
  return values.reduceRight((rest, node) => splice(rest, node.offset, endOf(node), '"***"'), text);
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
    document = text.trim() === '' ? {} : parseCommentedJson(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new UneditableConfig(`The file is not valid JSON: ${error.message}. Fix it first.`, error);
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
