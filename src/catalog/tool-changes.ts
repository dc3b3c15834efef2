/**
 * What a changed tool definition means for those who trusted the one before (a "rug pull"), and what in a definition
 * looks written for a model rather than for people. Pure: definitions in, findings out.
 */
import { isObject, type JsonObject } from '../json-rpc.ts';
import { normalize } from '../unicode.ts';

/** From harmless to dangerous; a change has the risk of its worst part. */
const risks = [
  'other',
  'text',
  'optional_parameter',
  'output',
  'annotations',
  'removed_parameter',
  'changed_parameter',
  'required_parameter',
  'instructions',
] as const;
export type Risk = (typeof risks)[number];

interface ToolChange {
  risk: Risk;
  /** Every part of the change, the worst first. */
  parts: { risk: Risk; what: string }[];
}

export interface Warning {
  kind: 'invisible_text' | 'bidirectional_text' | 'control_characters' | 'instructions';
  /** Where in the definition: `description`, `inputSchema.properties.path.description`. */
  at: string;
  /** The offending part, with everything invisible written out. */
  excerpt: string;
}

export function classifyChange(before: JsonObject, after: JsonObject): ToolChange {
  const parts = [
    ...newWarnings(before, after).map(({ kind, at }) => part('instructions', `${at}: ${kind.replace('_', ' ')}`)),
    ...parameterChanges(schemaOf(before), schemaOf(after)),
    ...annotationChanges(before.annotations, after.annotations),
    ...(differ(shapeOf(before.outputSchema), shapeOf(after.outputSchema)) ? [part('output', 'outputSchema')] : []),
    ...textChanges(before, after),
    ...otherChanges(before, after),
  ].sort((a, b) => risks.indexOf(b.risk) - risks.indexOf(a.risk));
  return { risk: parts[0]?.risk ?? 'other', parts };
}

const part = (risk: Risk, what: string) => ({ risk, what });

function newWarnings(before: JsonObject, after: JsonObject): Warning[] {
  const known = new Set(scanTool(before).map(({ kind, excerpt }) => `${kind} ${excerpt}`));
  return scanTool(after).filter(({ kind, excerpt }) => !known.has(`${kind} ${excerpt}`));
}

interface SchemaParameter {
  required: boolean;
  /** Everything that decides which values are accepted. */
  shape: string;
}

function parameterChanges(before: JsonObject, after: JsonObject): ToolChange['parts'] {
  const old = parametersOf(before);
  const fresh = parametersOf(after);
  const names = [...new Set([...old.keys(), ...fresh.keys()])];
  return names.flatMap((name) => {
    const [was, is] = [old.get(name), fresh.get(name)];
    const label = name === '' ? 'inputSchema' : `parameter ${name}`;
    if (is === undefined) return [part('removed_parameter', `${label} was removed`)];
    if (was === undefined) {
      return is.required
        ? [part('required_parameter', `${label} was added and is required`)]
        : [part('optional_parameter', `${label} was added`)];
    }
    if (is.required && !was.required) return [part('required_parameter', `${label} is now required`)];
    if (was.shape !== is.shape || was.required !== is.required) {
      return [part('changed_parameter', `${label} accepts different values`)];
    }
    return [];
  });
}

/** Every parameter by its path, those inside of objects and lists too; the schema itself under the empty path. */
function parametersOf(schema: JsonObject, path = '', required = true): Map<string, SchemaParameter> {
  const { properties, required: names, items, ...own } = schema;
  const found = new Map([[path, { required, shape: shapeOf(own) }]]);
  const mustHave = new Set(Array.isArray(names) ? names : []);
  const inner = isObject(properties) ? Object.entries(properties) : [];
  for (const [name, property] of inner) {
    const below = isObject(property) ? property : { schema: property };
    for (const entry of parametersOf(below, path === '' ? name : `${path}.${name}`, mustHave.has(name))) {
      found.set(...entry);
    }
  }
  if (isObject(items)) for (const entry of parametersOf(items, `${path}[]`, false)) found.set(...entry);
  return found;
}

const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

function annotationChanges(before: unknown, after: unknown): ToolChange['parts'] {
  const [was, is] = [isObject(before) ? before : {}, isObject(after) ? after : {}];
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])].filter((name) => name !== 'title');
  return names
    .filter((name) => differ(was[name], is[name]))
    .map((name) => part(hints.includes(name) ? 'annotations' : 'other', `annotations.${name}`));
}

function textChanges(before: JsonObject, after: JsonObject): ToolChange['parts'] {
  const [was, is] = [new Map(textsOf(before)), new Map(textsOf(after))];
  // Texts of parameters that come or go are part of that change.
  const both = [...is].filter(([at, text]) => was.get(at) !== text && (was.has(at) || !at.includes('.properties.')));
  const gone = [...was.keys()].filter((at) => !is.has(at) && !at.includes('.properties.'));
  return [...both.map(([at]) => at), ...gone].map((at) => part('text', at));
}

const known = new Set(['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations']);

function otherChanges(before: JsonObject, after: JsonObject): ToolChange['parts'] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((member) => !known.has(member) && differ(before[member], after[member]))
    .map((member) => part('other', member));
}

const schemaOf = ({ inputSchema }: JsonObject): JsonObject => (isObject(inputSchema) ? inputSchema : {});

/** A member of a schema that is text and not the name of a property. */
const textMembers = new Set(['title', 'description', 'examples', '$comment']);

/** A schema without what is only said about it, in one order. */
function shapeOf(schema: unknown, insideProperties = false): string {
  if (Array.isArray(schema)) return `[${schema.map((entry) => shapeOf(entry)).join(',')}]`;
  if (!isObject(schema)) return JSON.stringify(schema) ?? 'undefined';
  const members = Object.entries(schema)
    .filter(([name]) => insideProperties || !textMembers.has(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, value]) => `${name}:${shapeOf(value, name === 'properties' || name === '$defs')}`).join(',')}}`;
}

function differ(a: unknown, b: unknown): boolean {
  return shapeOf(a, true) !== shapeOf(b, true);
}

/** All that a model reads of a definition, with its place. */
function textsOf(value: unknown, at = ''): [at: string, text: string][] {
  if (Array.isArray(value)) return value.flatMap((entry, place) => textsOf(entry, `${at}[${place}]`));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]): [string, string][] => {
    const place = at === '' ? name : `${at}.${name}`;
    if (typeof inner !== 'string') return textsOf(inner, place);
    return textMembers.has(name) ? [[place, inner]] : [];
  });
}

/** Every string a model may be shown: names of parameters, defaults and enums can carry a message too. */
function stringsOf(value: unknown, at = ''): [at: string, text: string][] {
  if (typeof value === 'string') return [[at, value]];
  if (Array.isArray(value)) return value.flatMap((entry, place) => stringsOf(entry, `${at}[${place}]`));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]): [string, string][] => {
    const place = at === '' ? name : `${at}.${name}`;
    return [[`${place} (name)`, name], ...stringsOf(inner, place)];
  });
}

/** What a model would read in a definition that it should not. */
export function scanTool(definition: JsonObject): Warning[] {
  // Icons are data and `_meta` is for programs: models see neither.
  const { icons: _icons, _meta, ...visible } = definition;
  return stringsOf(visible).flatMap(([at, text]) => scanDescription(text).map((found) => ({ ...found, at })));
}

type RiskFinding = Omit<Warning, 'at'>;

/** Hidden characters, and sentences that give orders to a model instead of describing a tool. */
export function scanDescription(text: string): RiskFinding[] {
  const plain = /^[\t\n\r -~]*$/.test(text);
  // Read as a model reads it: without what is invisible, and with what tags spell out.
  const read = plain ? text : normalize(text.replace(tagged, untagged).replace(invisible, ''), 'NFKC');
  return [...(plain ? [] : findHidden(text.replace(legitimate, ''))), ...findInstructions(read)];
}

function findHidden(text: string): RiskFinding[] {
  return hiddenPatterns.flatMap(([kind, pattern]) => {
    const match = pattern.exec(text);
    return match === null ? [] : [{ kind, excerpt: excerptOf(text, match.index, match[0].length) }];
  });
}

function findInstructions(text: string): RiskFinding[] {
  if (text.length < minOrder) return [];
  for (const pattern of instructionPatterns) {
    const match = pattern.exec(text);
    if (match !== null) return [{ kind: 'instructions', excerpt: excerptOf(text, match.index, match[0].length) }];
  }
  return [];
}

/** Most strings of a definition are names and types. */
const minOrder = 12;

/** Joiners inside of emoji and of scripts that need them, and the flags that are spelled with tags. */
const legitimate =
  /(?<=\p{Extended_Pictographic}[\u{fe0f}\u{1f3fb}-\u{1f3ff}]?)\u200d(?=\p{Extended_Pictographic})|(?<=[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Malayalam}\p{Script=Sinhala}\p{Mn}])[\u200c\u200d]|\u{1f3f4}[\u{e0061}-\u{e007a}\u{e0030}-\u{e0039}]{2,6}\u{e007f}|(?<=[\p{Script=Arabic}\p{Script=Hebrew}][^\n]{0,40})[\u200e\u200f]|^\ufeff/gu;

const invisible = new RegExp(
  '[\\u00ad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180e\\u200b-\\u200d\\u2060-\\u2064\\u206a-\\u206f' +
    '\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]',
  'gu',
);

const hiddenPatterns: [Warning['kind'], RegExp][] = [
  ['invisible_text', new RegExp(`(?:${invisible.source})+`, 'u')],
  ['bidirectional_text', /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/u],
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  ['control_characters', /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]+/u],
];

const secretThings = [
  '(?:~/\\.|/etc/|\\.ssh\\b|id_rsa|\\.env\\b|\\.aws\\b|mcp\\.json|conversation history|chat history|system prompt)',
  "\\b(?:user's|users'|your|their|any|all)\\b[^.\\n]{0,20}\\b(?:credentials|passwords?|api[ _-]?keys?|access tokens?|private keys?)\\b",
].join('|');

/** Each of them gives an order that has nothing to do with saying what the tool does. */
const instructionPatterns: RegExp[] = [
  /\b(?:ignore|disregard|forget|override)\b[^.\n]{0,30}\b(?:previous|prior|above|earlier|other|all|any|system|your)\b[^.\n]{0,30}\b(?:instructions?|prompts?|rules|guidelines|messages?|context)\b/i,
  /<\/?\s*(?:important|system|instructions?|hidden|assistant)\s*>/i,
  /\b(?:do not|don't|never|without)\b[^.\n]{0,20}\b(?:tell|telling|mention|mentioning|inform|informing|reveal|revealing|show|showing|notify|notifying|alert)\b[^.\n]{0,40}\b(?:user|human|person|anyone|them)\b/i,
  /\b(?:hide|conceal|keep)\b[^.\n]{0,30}\b(?:from the user|from the human|secret from)\b/i,
  /\b(?:before|after|when|whenever|prior to)\s+(?:using|calling|invoking|running|you (?:use|call))\b[^.\n]{0,40}\b(?:tools?|functions?)\b[^\n]{0,60}\b(?:you must|first|always|must|read|call|send)\b/i,
  new RegExp(
    `\\b(?:read|open|cat|send|include|attach|upload|post|forward|pass|append|paste|copy)\\b[^.\\n]{0,60}(?:${secretThings})`,
    'i',
  ),
  /\b(?:instead of|rather than|do not use|don't use|never use)\b[^.\n]{0,30}\b(?:the )?(?:other|any other|all other|original|built-in)\b[^.\n]{0,20}\btools?\b/i,
  /\byou are (?:now|no longer)\b|\bnew (?:system )?instructions?:|\b(?:system|developer) (?:prompt|message)\s*:/i,
  /\b(?:bcc|cc|copy|forward|send)\b[^.\n]{0,40}\b(?:every|all)\b[^.\n]{0,40}\b(?:e-?mails?|messages?|data|conversations?)\b[^.\n]{0,40}(?:@|https?:\/\/)/i,
];

const tagged = /[\u{e0020}-\u{e007e}]+/gu;

/** A word of its own, wherever it was hidden. */
function untagged(tags: string): string {
  return ` ${Array.from(tags, (tag) => String.fromCodePoint((tag.codePointAt(0) ?? 0) - 0xe0000)).join('')} `;
}

const contextLength = 30;

function excerptOf(text: string, start: number, length: number): string {
  const from = Math.max(0, start - contextLength);
  const to = Math.min(text.length, start + Math.min(length, 120) + contextLength);
  const shown = text
    .slice(from, to)
    .toWellFormed()
    .replace(/[^\P{C}\n]|\p{Cf}|\p{Cc}/gu, spelled);
  return `${from > 0 ? '…' : ''}${shown}${to < text.length ? '…' : ''}`;
}

function spelled(character: string): string {
  return character === '\n'
    ? ' '
    : `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`;
}
