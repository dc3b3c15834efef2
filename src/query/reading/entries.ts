/** What an answer lists, as things that another tool can be told about: files, tables, issues, rows. */
import type { RawNumber } from '../../exact-json.ts';
import { isObject } from '../../json-rpc.ts';
import { singular } from '../../similarity/stem.ts';
import { nameWords } from '../strategy/read-only.ts';
import type { ParsedAnswer } from './answer.ts';

export type Scalar = string | number | RawNumber;

export interface Entry {
  /** Scalars by key, "owner.login" for nested ones; a bare line has the key "". */
  fields: Readonly<Record<string, Scalar>>;
  /** How it reads, shortened: names, titles, descriptions. */
  label: string;
  /** What it is, where the answer says so. */
  noun: string;
  isFolder: boolean;
  /** It says more than which thing it is. */
  isDetailed: boolean;
  /** It holds a text of its own, as a message does. */
  isTelling: boolean;
  /** A link to a resource of the server. */
  isLink?: true;
}

const maxEntries = 2_000;
const maxFields = 40;
const maxFieldChars = 500;
const labelChars = 300;

export function entriesOf({ parts }: ParsedAnswer): Entry[] {
  const entries: Entry[] = [];
  for (const part of parts) {
    if (entries.length >= maxEntries) break;
    if (part.kind === 'records') {
      for (const { noun, records } of part.groups) {
        const isTree = records.some((record) => isObject(record) && childrenOf(record) !== undefined);
        for (const record of records.slice(0, maxEntries)) addRecord(entries, record, noun, '', isTree);
      }
    } else if (part.kind === 'text') entries.push(...textEntries(part.text));
    else if (part.kind === 'link') {
      const { uri, name, description } = part;
      entries.push({
        fields: { uri, name },
        label: shorten(`${name} ${description} ${uri}`),
        noun: '',
        isFolder: false,
        isDetailed: false,
        isTelling: false,
        isLink: true,
      });
    }
  }
  return entries.slice(0, maxEntries);
}

function addRecord(entries: Entry[], record: unknown, noun: string, parent: string, isTree: boolean): void {
  if (entries.length >= maxEntries) return;
  if (typeof record === 'string' || typeof record === 'number' || isRaw(record)) {
    const text = isRaw(record) ? record.rawJSON : String(record);
    if (text.length <= maxFieldChars) entries.push(bare(text, noun));
    return;
  }
  if (!isObject(record)) return;
  const children = childrenOf(record);
  const fields: Record<string, Scalar> = {};
  addFields(fields, record, '', 0);
  const own = String(fields.path ?? fields.name ?? fields.title ?? fields.key ?? '');
  // Every level repeats the one above: what is longer than a field may be is no path.
  const path = parent === '' || fields.path !== undefined ? own : `${parent}/${own}`.slice(0, maxFieldChars);
  if (isTree && fields.path === undefined && own !== '') fields.path = path;
  const isFolder = children !== undefined || looksLikeFolder(record);
  entries.push({
    fields,
    label: labelOf(fields),
    noun: noun === '' ? nounOf(record) : noun,
    isFolder,
    isDetailed: detailChars(record) > detailedChars,
    isTelling: proseChars(record) > tellingChars,
  });
  for (const child of children ?? []) addRecord(entries, child, noun, path, isTree);
  if (children === undefined) addNamedParts(entries, record, labelOf(fields));
}

/** `object: "page"`, `type: "event"`: a record may say what it is. */
function nounOf({ object, type, kind }: Record<string, unknown>): string {
  const said = [object, type, kind].find((value) => typeof value === 'string' && /^[a-z]{3,20}$/i.test(value));
  return typeof said === 'string' && !/^(?:file|dir|directory|folder|list|object)$/i.test(said)
    ? said.toLowerCase()
    : '';
}

const maxParts = 50;

/** `sensors: ["kw-627", "kw-628"]` of a room: things of their own, known by the room. */
function addNamedParts(entries: Entry[], record: Record<string, unknown>, owner: string): void {
  for (const [key, value] of Object.entries(record)) {
    const isHandles =
      Array.isArray(value) && value.length > 0 && value.every((part) => typeof part === 'string' && isHandle(part));
    if (!isHandles || !key.endsWith('s')) continue;
    const noun = singular(nameWords(key).at(-1) ?? '');
    for (const part of value.slice(0, maxParts))
      if (entries.length < maxEntries) entries.push({ ...bare(part, noun), label: shorten(`${owner} ${part}`) });
  }
}

/** "kw-627", "C0422": something that only machines say. */
const isHandle = (text: string): boolean => /^[\w.:/-]{2,80}$/.test(text) && /\d/.test(text);

function childrenOf(record: Record<string, unknown>): readonly unknown[] | undefined {
  const found = Object.entries(record).find(([key, value]) => childKeys.has(key.toLowerCase()) && Array.isArray(value));
  return Array.isArray(found?.[1]) ? found[1] : undefined;
}

const childKeys = new Set(['children', 'entries', 'files', 'nodes', 'contents', 'subdirectories', 'items', 'folders']);
const detailedChars = 400;
const tellingChars = 60;
const minProseWords = 4;

/** Characters of sentences; names, codes and addresses are none. */
function proseChars(record: Record<string, unknown>): number {
  return Object.values(record).reduce<number>((sum, value) => {
    const isProse = typeof value === 'string' && value.trim().split(/\s+/, minProseWords).length >= minProseWords;
    return sum + (isProse ? value.length : 0);
  }, 0);
}

function detailChars(record: Record<string, unknown>): number {
  return Object.values(record).reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);
}

function looksLikeFolder(record: Record<string, unknown>): boolean {
  const type = String(record.type ?? record.kind ?? record.object ?? record.mimeType ?? '').toLowerCase();
  return (
    /^(?:dir|directory|folder|tree)$|folder/.test(type) ||
    record.isDirectory === true ||
    record.is_dir === true ||
    record.is_directory === true
  );
}

function addFields(
  fields: Record<string, Scalar>,
  record: Record<string, unknown>,
  prefix: string,
  depth: number,
): void {
  for (const [key, value] of Object.entries(record)) {
    if (Object.keys(fields).length >= maxFields) return;
    const name = prefix === '' ? key : `${prefix}.${key}`;
    if (typeof value === 'string') {
      if (value !== '' && value.length <= maxFieldChars) fields[name] ??= value;
    } else if (typeof value === 'number' || isRaw(value)) fields[name] ??= value;
    else if (isObject(value) && depth < maxFieldDepth) addFields(fields, value, name, depth + 1);
    // `title: [{plain_text: "Dogs"}]`: rich text.
    else if (Array.isArray(value) && value.length <= maxRuns && depth < maxFieldDepth)
      for (const run of value) if (isObject(run)) addFields(fields, run, name, depth + 1);
  }
}

const maxFieldDepth = 4;
const maxRuns = 4;

const isRaw = (value: unknown): value is RawNumber => JSON.isRawJSON(value);

function bare(text: string, noun: string): Entry {
  return {
    fields: { '': text },
    label: shorten(text),
    noun,
    isFolder: text.endsWith('/'),
    isDetailed: false,
    isTelling: false,
  };
}

const shorten = (text: string): string => text.slice(0, labelChars);

/** Titles and names first, what only machines say last, so that the shortening keeps what people say. */
function labelOf(fields: Readonly<Record<string, Scalar>>): string {
  const values = Object.entries(fields).map(([key, value]) => ({ rank: rankOf(key, value), text: textOf(value) }));
  const texts = values.toSorted((a, b) => a.rank - b.rank).map(({ text }) => text);
  return shorten([...new Set(texts)].join(' '));
}

const textOf = (value: Scalar): string => (typeof value === 'object' ? value.rawJSON : String(value));

const labelKeys = ['title', 'name', 'subject', 'path', 'filename', 'summary', 'description', 'snippet', 'label'];

/** By any part of the key: `properties.title.plain_text` is a title. */
function rankOf(key: string, value: Scalar): number {
  const parts = key.toLowerCase().split('.');
  const place = labelKeys.findIndex((label) => parts.includes(label));
  if (isMachineText(value)) return 2 * labelKeys.length;
  return place < 0 ? labelKeys.length : place;
}

/** Universal ids, times and addresses. */
const isMachineText = (value: Scalar): boolean =>
  typeof value === 'string' &&
  /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$|^\d{4}-\d\d-\d\dT\d\d:|^https?:\/\/|^#[0-9a-f]{6}$/i.test(value);

/** What people call it. */
export function titleOf({ fields, label }: Entry): string {
  const deep = Object.entries(fields).find(([key, value]) => rankOf(key, value) <= labelKeys.indexOf('subject'));
  const value = fields.path ?? fields.title ?? fields.name ?? fields.subject ?? fields.lead ?? fields[''] ?? deep?.[1];
  return textOf(value ?? label).slice(0, 200);
}

const maxNounWords = 3;
const maxLines = 5_000;
const maxLineChars = 600;
const treeGlyphs = /^[\s│|]*(?:[├└`+|][─-]{1,3}\s?)/;
const bullet = /^\s*(?:[-*+•]|\d{1,4}[.)]|\[\d{1,4}\])\s+/;
const typeMark = /^\[(DIR|FILE|D|F)\]\s+|^(?:📁|📂|📄)\s*/u;

/** Bare lines, bullets, trees, "key: value" blocks, and what a search prints (`path:12: text`). */
function textEntries(text: string): Entry[] {
  const lines = text.split('\n', maxLines).map((line) => line.slice(0, maxLineChars));
  const identified = lines.flatMap(idEntries);
  if (identified.length > 0) return identified;
  const blocks = blockEntries(lines);
  if (blocks.length > 0) return blocks;
  const listed = commaSeparated(text);
  if (listed !== undefined) return listed.map((name) => lineEntry(name, '', false, undefined));
  const entries: Entry[] = [];
  const tree: { depth: number; path: string }[] = [];
  let noun = '';
  for (const line of lines) {
    if (entries.length >= maxEntries) break;
    const heading = /^#{0,6}\s*([\p{L}\p{N}][^:|]{0,60}):\s*$/u.exec(line);
    if (heading !== null) {
      const words = heading[1]?.toLowerCase().match(/[a-z]+/g) ?? [];
      // "Allowed directories:" says what follows; a sentence does not.
      noun = words.length <= maxNounWords ? singular(words.at(-1) ?? '') : '';
      continue;
    }
    const indent = treeGlyphs.exec(line)?.[0].length ?? 0;
    const stripped = line.slice(indent).replace(bullet, '').trim();
    if (stripped === '') continue;
    const mark = typeMark.exec(stripped);
    const rest = mark === null ? stripped : stripped.slice(mark[0].length);
    const isFolder = (mark?.[1] ?? '').startsWith('D') || /^(?:📁|📂)/u.test(mark?.[0] ?? '') || rest.endsWith('/');
    entries.push(lineEntry(rest, noun, isFolder, indent > 0 ? treePath(tree, indent, rest) : undefined));
  }
  return entries;
}

/** "Object IDs: 20015, 20038": a search that finds numbers only. */
function idEntries(line: string): Entry[] {
  const found = /^\W{0,4}([A-Za-z][\w ]{0,30}?)\s?\b(?:IDs|Ids|ids|numbers|keys)\b\W{1,6}(\S.*)$/.exec(line);
  const listed = strip(found?.[2] ?? '', '', '])}.');
  const values = listed.split(/[,;]/).map((value) => value.trim());
  if (found?.[1] === undefined || !values.every((value) => /^["'#]?[\w-]{1,64}["']?$/.test(value))) return [];
  const noun = singular(nameWords(found[1]).at(-1) ?? '');
  return values.map((value) => {
    const id = value.replace(/["'#]/g, '');
    return { ...bare(id, noun), fields: { id, '': id } };
  });
}

/** "concerts, members, pieces": one line of names. */
function commaSeparated(text: string): string[] | undefined {
  const line = text.trim();
  if (line.length > 4_000 || line.includes('\n')) return undefined;
  const names = line.split(',').map((name) => name.trim());
  const areNames = names.length > 2 && names.every((name) => /^[\w./-]{1,60}$/.test(name));
  return areNames ? names : undefined;
}

function treePath(tree: { depth: number; path: string }[], depth: number, name: string): string {
  while ((tree.at(-1)?.depth ?? -1) >= depth) tree.pop();
  const parent = tree.at(-1)?.path;
  const own = name.replace(/\/$/, '');
  const path = parent === undefined ? own : `${parent}/${own}`.slice(0, maxFieldChars);
  tree.push({ depth, path });
  return path;
}

function lineEntry(line: string, noun: string, isFolder: boolean, path: string | undefined): Entry {
  const fields: Record<string, Scalar> = { '': line };
  if (path !== undefined) fields.path = path;
  const hit = /^((?:[A-Za-z]:)?[^\s:][^:]{0,300}):(\d{1,7})[:-]/.exec(line);
  if (hit?.[1] !== undefined && /[/.\\]/.test(hit[1]) && /[A-Za-z]/.test(hit[1]))
    Object.assign(fields, { path: hit[1], line: Number(hit[2]) });
  // What stands before a remark is the thing: "notes.md (2 KB)", "T-12 - Broken lamp", "orders: 120 rows".
  const lead =
    /^(.{1,200}?)(?:\s+[-–—|·]\s+|\s{2,}|\t|:\s|\s\()/.exec(line)?.[1] ?? /^\*\*(.{1,200})\*\*$/.exec(line)?.[1];
  if (lead !== undefined && fields.path === undefined) fields.lead = unquoted(lead);
  const code = (/#(\d+)\b/.exec(line) ??
    /\b([A-Z][A-Z0-9]{0,9}-\d+)\b/.exec(line) ??
    /^\W{0,4}([A-Za-z]{1,10}[-_]\d+)\b/.exec(line) ??
    /^\W{0,4}(\d{2,})\b(?![:.-]\d)/.exec(line))?.[1];
  if (code !== undefined) fields.id = code;
  // "Council Chamber (chamber@town.example)", "[J-3243] wheel": a token in brackets is what machines call it.
  const bracketed = /[([]([^\s()[\]]{3,100})[)\]]/.exec(line)?.[1];
  if (bracketed !== undefined && /[\d@_./-]/.test(bracketed) && !/^\d+(?:\.\d+)?(?:[a-z%]+)?$/i.test(bracketed))
    fields.bracketed = bracketed;
  for (const [key, value] of labelled(line)) fields[key] ??= value;
  const url = /https?:\/\/[^\s<>")\]]+/.exec(line)?.[0];
  if (url !== undefined) fields.uri ??= url;
  return {
    fields,
    label: shorten(line),
    noun,
    isFolder,
    isDetailed: line.length > detailedChars,
    isTelling: proseChars({ line }) > tellingChars,
  };
}

/** "ID: 12 | Owner: Ada", "(id: 12)", "id=12". */
function labelled(line: string): [string, string][] {
  const found: [string, string][] = [];
  for (const part of line.split(/[|,;()\t]/)) {
    const at = part.search(/[:=]/);
    const key = strip(part.slice(0, Math.max(0, at)).trim(), '*', '*').trim();
    const value = strip(part.slice(at + 1).trimStart(), '*', '').trimStart();
    if (/^[A-Za-z][\w -]{0,28}$/.test(key) && value !== '' && value.length <= maxLabelledChars)
      found.push([keyOf(key), unquoted(value.trim())]);
  }
  return found;
}

const keyOf = (label: string): string => nameWords(label).join('_');
const maxLabelledChars = 201;
const unquoted = (value: string): string => strip(value, '`"\'*', '`"\'*');

/** Without these characters at its beginning and at its end. */
function strip(text: string, atStart: string, atEnd: string): string {
  let [start, end] = [0, text.length];
  while (start < end && atStart.includes(text[start] ?? ' ')) start += 1;
  while (end > start && atEnd.includes(text[end - 1] ?? ' ')) end -= 1;
  return text.slice(start, end);
}

/** "- **Owner**: Ada" → Owner, Ada. */
function blockLine(line: string): { key: string; value: string } | undefined {
  const colon = line.indexOf(':');
  if (colon < 0 || !/\s/.test(line[colon + 1] ?? '')) return undefined;
  const label = line
    .slice(0, colon)
    .trim()
    .replace(/^[-*•]\s+/, '');
  const key = strip(label, '*', '*').trim();
  const value = strip(line.slice(colon + 1).trim(), '*', '').trimStart();
  return value !== '' && /^[A-Za-z][\w .-]{0,40}$/.test(key) ? { key, value } : undefined;
}

/** Blocks of "key: value" lines; a blank line, a rule, the first key again or a line at the margin begins the next. */
function blockEntries(lines: readonly string[]): Entry[] {
  const entries: Entry[] = [];
  let fields: Record<string, Scalar> = {};
  let heading: Entry['fields'] = {};
  let first = '';
  let chars = 0;
  let other = 0;
  const close = () => {
    if (Object.keys(fields).length >= 2) {
      fields = { ...heading, ...fields };
      const noun = singular(first.split('_').at(-1) ?? '');
      entries.push({
        fields,
        label: labelOf(fields),
        // "Commit: 8f3a…" says what the block is; "Description: …" does not.
        noun: Object.keys(heading).length > 0 || attributes.has(first) ? '' : noun,
        isFolder: false,
        isDetailed: chars > detailedChars,
        isTelling: false,
      });
    }
    fields = {};
    heading = {};
    chars = 0;
  };
  for (const line of lines) {
    if (line.trim() === '' || /^\s*[-=_*]{3,}\s*$/.test(line)) {
      close();
      continue;
    }
    const pair = blockLine(line);
    if (pair === undefined) {
      // "Commit history:" is no thing.
      if (!/^\s/.test(line) && !/:\s*$/.test(line)) {
        if (Object.keys(fields).length > 0) close();
        heading = lineEntry(
          line
            .replace(/^#{1,6}\s+/, '')
            .replace(bullet, '')
            .trim(),
          '',
          false,
          undefined,
        ).fields;
      }
      if (!/^#{1,6}\s/.test(line)) other += 1;
      chars += line.length;
      continue;
    }
    const key = keyOf(pair.key);
    if (Object.keys(fields).length === 0) first = key;
    else if (key === first) {
      close();
      first = key;
    }
    if (Object.keys(fields).length < maxFields) fields[key] ??= unquoted(pair.value).slice(0, maxFieldChars);
    chars += line.length;
  }
  close();
  // Prose with a colon here and there is no list of blocks.
  return entries.length > 0 && other <= entries.length * 12 ? entries : [];
}

const attributes = new Set(
  (
    'id name title key path uri url number description access type status state date from to subject start end owner author ' +
    'created updated summary location label role email phone time when who where text content body size'
  ).split(' '),
);
