/** Handles: which file, table, issue or person a call is about. From what was listed before, or named in the question. */

import { singular } from '../../similarity/stem.ts';
import type { Question } from '../question/question.ts';
import type { Parameter } from '../strategy/parameters.ts';
import { nameWords } from '../strategy/read-only.ts';
import type { Operation } from '../strategy/strategy.ts';
import type { Arguments, ArgumentValue, HandleSource } from './bind.ts';
import type { Entry, Scalar } from './entries.ts';

export function handleValues(
  parameter: Parameter,
  operation: Operation,
  question: Question,
  source: HandleSource,
): ArgumentValue[] {
  if (parameter.role.kind !== 'handle') return [];
  const isNarrowed = source.entry !== undefined && operation.narrows.includes(parameter);
  const isNeeded = (parameter.isRequired && parameter.default === undefined) || isNarrowed;
  if (!isNeeded && parameter.default !== '.') return sameField(parameter, operation, source);
  const repository = source.entry === undefined ? undefined : repositoryPart(parameter, operation, source.entry);
  if (repository !== undefined) return [{ value: repository, isHandle: true, isOwn: true }];
  const own = source.entry === undefined || !isNeeded ? [] : fromEntry(parameter, operation, source.entry, source);
  if (own.length > 0) return own;
  const inherited = fromScope(parameter, source.scope);
  if (inherited !== undefined) return [{ value: inherited, isHandle: true }];
  const named = fromQuestion(parameter, operation, question, source);
  if (named.length > 0) return named;
  const isFolder =
    parameter.role.attribute === 'folder' || (parameter.role.attribute === 'path' && parameter.default === '.');
  return isFolder ? source.folders.slice(0, 2).map((value) => ({ value, isHandle: true })) : [];
}

/** What may be told as well, and stands in the entry under the same name: the calendar of an event. */
function sameField(parameter: Parameter, { kind }: Operation, { entry }: HandleSource): ArgumentValue[] {
  const value = kind === 'read' && !parameter.isList ? entry?.fields[parameter.name] : undefined;
  return typeof value === parameter.type || (typeof value === 'number' && parameter.type === 'integer')
    ? [{ value, isHandle: true }]
    : [];
}

/** Whose issue or file it is stands in its address: https://host/owner/repo/issues/7, or in "full_name". */
function repositoryPart({ role }: Parameter, { kind }: Operation, { fields }: Entry): string | undefined {
  if (role.kind !== 'handle' || (role.noun !== 'owner' && classOf(role.noun) !== 'repo')) return undefined;
  // The repository of an issue is not a reason to list all its issues.
  const isRepository = Object.keys(fields).some((key) => /^(?:full_?name|name_?with_?owner)$/i.test(key));
  if (kind !== 'read' && !isRepository) return undefined;
  for (const [key, value] of Object.entries(fields)) {
    if (typeof value !== 'string') continue;
    const found =
      /^https?:\/\/[^/]+\/(?:repos\/)?([\w.-]+)\/([\w.-]+)(?:\/|$)/.exec(value) ??
      (/(?:^|[._])(?:full_?name|repository|repo|name_?with_?owner)$/i.test(key)
        ? /^([\w.-]+)\/([\w.-]+)$/.exec(value)
        : null);
    if (found !== null) return role.noun === 'owner' ? found[1] : found[2];
  }
  return undefined;
}

function fromScope({ name, role }: Parameter, scope: Readonly<Arguments>): unknown {
  if (Object.hasOwn(scope, name)) return scope[name];
  if (role.kind !== 'handle' || role.noun === '') return undefined;
  const same = Object.entries(scope).find(([key]) => nameWords(key).map(singular).includes(role.noun));
  return same?.[1];
}

const samePart: ReadonlyMap<string, string> = new Map(
  Object.entries({
    document: 'file',
    doc: 'file',
    note: 'file',
    page: 'file',
    directory: 'folder',
    dir: 'folder',
    repository: 'repo',
    revision: 'commit',
    sha: 'commit',
    object: 'commit',
    ref: 'commit',
    hash: 'commit',
    ticket: 'issue',
    case: 'issue',
    person: 'user',
    member: 'user',
    contact: 'user',
    people: 'user',
    room: 'channel',
    conversation: 'channel',
  }),
);
export const classOf = (noun: string): string => samePart.get(noun) ?? noun;

/** May an entry of this noun stand for what the parameter wants? */
function agree(wanted: string, found: string): 'yes' | 'perhaps' | 'no' {
  if (wanted === '' || found === '') return 'perhaps';
  return classOf(wanted) === classOf(found) ? 'yes' : 'no';
}

const attributeKeys: Readonly<Record<string, readonly string[]>> = {
  path: ['path', 'file_path', 'filepath', 'relative_path', 'full_path', 'file', 'filename', 'lead', ''],
  folder: ['path', 'full_path', 'folder', 'directory', ''],
  uri: ['uri', 'url', 'link', 'href', 'web_url', 'html_url', 'permalink', ''],
  id: [
    'id',
    'key',
    'uuid',
    'slug',
    'identifier',
    'sha',
    'hash',
    'code',
    'number',
    'ref',
    'ts',
    'handle',
    'bracketed',
    'lead',
    '',
  ],
  number: ['number', 'iid', 'id', 'no', ''],
  name: ['name', 'title', 'full_name', 'slug', 'lead', 'id', ''],
  any: ['name', 'id', 'key', 'slug', 'bracketed', 'lead', 'path', ''],
};

/** Spellings of the handle that an entry gives, likeliest first. */
function fromEntry(parameter: Parameter, operation: Operation, entry: Entry, source: HandleSource): ArgumentValue[] {
  if (parameter.role.kind !== 'handle') return [];
  const { noun, attribute } = parameter.role;
  const fields = Object.entries(entry.fields).map(([key, value]) => ({ words: nameWords(key), key, value }));
  const wanted = nameWords(parameter.name).map(singular).join(' ');
  const exact = fields.find(
    ({ words }) => words.length > 0 && words.map(singular).join(' ') === wanted && wanted !== 'name',
  );
  const found = entry.noun === '' ? (source.noun ?? '') : entry.noun;
  const wantedNoun = noun === '' ? nounWanted(parameter, operation) : noun;
  // A page may be read as a block where nothing lists blocks.
  const isProduced = source.produced?.has(classOf(wantedNoun)) ?? true;
  const agreement = isProduced ? agree(wantedNoun, found) : 'perhaps';
  if (
    attribute === 'folder' &&
    !entry.isFolder &&
    !(classOf(entry.noun) === 'folder' && !/\.\w{1,5}$/.test(entry.label))
  )
    return [];
  if (attribute === 'path' && (entry.isFolder || classOf(entry.noun) === 'folder')) return [];
  if (exact !== undefined) return spellings(parameter, exact.value, entry, source);
  if (agreement === 'no') {
    const named = fields.find(
      ({ words }) =>
        words.length > 0 &&
        classOf(singular(words[0] ?? '')) === classOf(noun) &&
        words.length <= 2 &&
        idWords.has(words.at(-1) ?? ''),
    );
    return named === undefined ? [] : spellings(parameter, named.value, entry, source);
  }
  // A key that is the noun itself ("Commit: 8f3a…"), then the usual ones, then what looks like a path.
  const keyed = fields.filter(
    ({ words }) => words.length === 1 && wantedNoun !== '' && classOf(singular(words[0] ?? '')) === classOf(wantedNoun),
  );
  // `project_key` wants the key, `organizationSlug` the slug.
  const own = nameWords(parameter.name).at(-1) ?? '';
  const usual = [own, ...(attributeKeys[attribute] ?? [])].flatMap((key) =>
    fields.filter(({ words, value }) => words.join('_') === key && suits(parameter, value, key)),
  );
  const formed = attribute === 'path' ? fields.filter(({ value }) => looksLikeFile(String(value))) : [];
  const candidates = [...(attribute === 'path' ? [] : keyed), ...usual, ...formed];
  return [...new Set(candidates)]
    .flatMap(({ value }) => spellings(parameter, value, entry, source))
    .slice(0, maxCandidates);
}

/** Where the first is refused, another field may be what the tool means. */
const maxCandidates = 3;

const idWords = new Set(['id', 'key', 'name', 'number', 'slug', 'path', 'uri']);

/** `get_note(id)` wants the id of a note. */
function nounWanted({ role }: Parameter, operation: Operation): string {
  if (role.kind === 'handle' && (role.attribute === 'path' || role.attribute === 'folder' || role.attribute === 'uri'))
    return '';
  return operation.kind === 'read' ? operation.noun : '';
}

function looksLikeFile(value: string): boolean {
  const isFile = value.length <= 300 && /^[^\n?*|<>@]*[^\s.]\.[A-Za-z][A-Za-z0-9]{0,5}$/.test(value);
  return isFile && !value.includes('://') && (value.includes('/') || !/\.(?:com|org|net|io|dev|example)$/i.test(value));
}

function suits({ role, type }: Parameter, value: Scalar, key: string): boolean {
  const text = typeof value === 'object' ? value.rawJSON : String(value);
  if (type === 'integer' || type === 'number') return /^#?\d+$/.test(text);
  if (role.kind !== 'handle') return false;
  if (role.attribute === 'uri') return /^[a-z][a-z0-9+.-]*:/i.test(text) || (key !== '' && /^\/\S+$/.test(text));
  if (role.attribute === 'id' || role.attribute === 'number') return text.length <= 200 && !/\s\S+\s/.test(text);
  return text.length <= 300;
}

function spellings(
  parameter: Parameter,
  value: Scalar,
  entry: Entry,
  { scope, folders }: HandleSource,
): ArgumentValue[] {
  const { role, type } = parameter;
  const own = (spelt: unknown): ArgumentValue => ({ value: spelt, isHandle: true, isOwn: true });
  if (typeof value === 'object') return [own(type === 'string' ? value.rawJSON : value)];
  if (type === 'integer' || type === 'number') return [own(Number(String(value).replace('#', '')))];
  const text = String(value);
  if (role.kind !== 'handle' || (role.attribute !== 'path' && role.attribute !== 'folder')) return [own(text)];
  if (/^[a-z]:[\\/]|^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return [own(text)];
  const bases = [
    ...Object.values(scope).filter((base): base is string => typeof base === 'string' && looksLikeFolder(base)),
    ...(text.startsWith('/') ? [] : folders),
  ];
  const whole = String(entry.fields.path ?? text);
  if (whole.startsWith('/')) {
    // Absolute, or relative to a vault that writes its root as "/".
    return [own(whole), own(whole.slice(1))];
  }
  const joined = bases.slice(0, 1).map((base) => `${base.replace(/\/$/, '')}/${whole.replace(/^\.\//, '')}`);
  return [...joined, whole].map(own);
}

const looksLikeFolder = (value: string): boolean => /^(?:\/|~|\.{1,2}(?:\/|$)|[A-Za-z]:[\\/])/.test(value);

/** Named in the question itself: paths, addresses, numbers, names. */
function fromQuestion(
  parameter: Parameter,
  operation: Operation,
  question: Question,
  { folders, listed }: HandleSource,
): ArgumentValue[] {
  if (parameter.role.kind !== 'handle') return [];
  const { noun, attribute } = parameter.role;
  const values = (found: readonly unknown[]): ArgumentValue[] =>
    found.slice(0, maxNamed).map((value) => ({ value, isHandle: true, context: String(value) }));
  if (attribute === 'path') {
    return values(
      question.paths.flatMap((path) =>
        looksLikeFolder(path) || folders.length === 0 ? [path] : [`${folders[0]?.replace(/\/$/, '')}/${path}`, path],
      ),
    );
  }
  if (attribute === 'folder')
    return values(question.paths.filter((path) => looksLikeFolder(path) && !/\.[a-z0-9]{1,5}$/i.test(path)));
  if (attribute === 'uri') return values(question.urls);
  const [repository] = question.repositories;
  if (repository !== undefined && noun === 'owner') return values([repository.owner]);
  if (repository !== undefined && classOf(noun) === 'repo')
    return values([
      attribute === 'any' || attribute === 'name' ? repository.repo : `${repository.owner}/${repository.repo}`,
    ]);
  if (attribute === 'id' || attribute === 'number')
    return values(identifiersFor(parameter, noun === '' ? operation.noun : noun, question, listed));
  if (isWildcard(parameter, operation)) return ['*', ''].map((value) => ({ value, isHandle: true }));
  const spelt = [...question.identifiers.map(({ text }) => text), ...question.names].filter((text) =>
    /^\S*(?:[a-z][A-Z]|_)\S*$/.test(text),
  );
  if (notInQuestions.has(noun)) return parameter.type === 'string' ? values(spelt) : [];
  if (listed?.has(classOf(noun === '' ? operation.noun : noun))) return [];
  const codes = identifiersFor(parameter, noun === '' ? operation.noun : noun, question, listed);
  const named = values([...codes, ...(parameter.type === 'string' ? question.names : [])]);
  return [...named, ...triedWords(parameter, operation, question)];
}

/** `list_files(name)`: a list that is filtered by the names of what it lists. */
function isWildcard({ role, type }: Parameter, { kind, needs, noun }: Operation): boolean {
  if (kind !== 'list' || needs.length > 1 || type !== 'string' || role.kind !== 'handle') return false;
  return (role.attribute === 'name' || role.attribute === 'any') && (role.noun === '' || role.noun === noun);
}

const maxNamed = 2;
const maxTried = 3;

/**
 * `stock(article)`, `opening_hours(place)`: where a reader wants one thing that nothing lists, the words of the question
 * are tried. They may be wrong, so nothing is said of what comes back.
 */
function triedWords({ role, type }: Parameter, { needs, kind }: Operation, question: Question): ArgumentValue[] {
  if (type !== 'string' || kind !== 'read' || needs.length > 1) return [];
  if (role.kind !== 'handle' || (role.attribute !== 'any' && role.attribute !== 'name')) return [];
  const words = [...shortName(question), ...question.keywords].filter((word) => !question.names.includes(word));
  return [...new Set(words)].slice(0, maxTried).map((value) => ({ value, isHandle: true }));
}

/** They name machinery, which people do not name in questions. */
const notInQuestions = new Set(
  'priority status state level severity source target from to start end object ref revision commit file mode type table index topic queue owner repo repository branch database collection schema connection session namespace bucket sheet project workspace vault format language model view field column head base sort'.split(
    ' ',
  ),
);

function identifiersFor(
  { type }: Parameter,
  noun: string,
  { identifiers }: Question,
  listed: ReadonlySet<string> | undefined,
): unknown[] {
  const isNumber = type === 'integer' || type === 'number';
  const fitting = identifiers.filter(({ text }) => !isNumber || /^\d+$/.test(text));
  const named = fitting.filter(
    (found) => found.noun !== undefined && noun !== '' && classOf(singular(found.noun)) === classOf(noun),
  );
  // "INV-1007" names one thing wherever it stands; "v2" or "40" may be anything.
  const isListed = listed?.has(classOf(noun)) === true;
  const codes = fitting.filter(
    ({ text }) => /^\p{L}+[-_]\d+$|^[0-9a-f]{7,40}$|^\d{4,}$/iu.test(text) && (!isListed || /\D/.test(text)),
  );
  return [...new Set([...named, ...codes].map(({ text }) => (isNumber ? Number(text) : text)))];
}

/** A sentence is no name; two or three words are. */
function shortName({ words, keywords }: Question): string[] {
  return words.length <= 3 && keywords.length > 0 ? [keywords.join(' ')] : [];
}
