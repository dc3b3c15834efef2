/** What each parameter of a tool is for, read from its name, type, format and description. */
import { isObject } from '../../json-rpc.ts';
import { singular } from '../../similarity/stem.ts';
import { nameWords } from './read-only.ts';

/**
 * How a tool finds words: by meaning, letter by letter, by a regular expression, by a file pattern, or in names and
 * titles only. `any`: nothing says.
 */
export type SearchStyle = 'meaning' | 'literal' | 'regex' | 'glob' | 'name' | 'any';

/** Languages in which "find this text" is a plain clause: those of Jira and of Confluence. */
type TextLanguage = 'jql' | 'cql';

/** `unsaid`: nothing tells whether a day or a moment is wanted. */
type DateFormat = 'day' | 'moment' | 'seconds' | 'milliseconds' | 'week' | 'month' | 'year' | 'written' | 'unsaid';

export type ParameterRole =
  | {
      kind: 'words';
      style: SearchStyle;
      /** It is meant for a query, not merely able to take one. */
      isMeant: boolean;
      /** The words must be put into a language of the server's own. */
      language?: TextLanguage;
    }
  | { kind: 'sql' }
  | {
      kind: 'date';
      edge: 'start' | 'end' | 'day';
      format: DateFormat /** Where it is `written`: "DD.MM.YYYY". */;
      pattern?: string;
    }
  | { kind: 'zone'; side: 'source' | 'target' }
  | { kind: 'time' }
  | { kind: 'limit' | 'page' | 'offset' | 'cursor' }
  | { kind: 'flag' }
  /** Required by the schema and ignored by the tool, or a wildcard for everything. */
  | { kind: 'fixed'; value: string }
  | { kind: 'choice'; values: readonly unknown[] }
  | {
      kind: 'handle';
      noun: string;
      attribute: Attribute /** Of paths: something says whether it is a file or a folder. */;
      isCertain?: boolean;
    }
  | { kind: 'other' };

/** What a handle is: the part of a thing by which a tool wants to be told which one. */
type Attribute = 'path' | 'folder' | 'uri' | 'id' | 'number' | 'name' | 'any';

export interface Parameter {
  name: string;
  role: ParameterRole;
  isRequired: boolean;
  /** Takes a list; one value is sent as a list of one. */
  isList: boolean;
  /** The key of an object that a value is sent in: `sources: [{path: "…"}]`. */
  wrappedIn?: string;
  type: 'string' | 'number' | 'integer' | 'boolean' | 'other';
  /** Undefined where the schema names none. */
  default?: unknown;
  /** Left out, the tool takes a value of its own: a calendar, a branch. */
  hasUsualValue: boolean;
  maximum?: number;
  minimum?: number;
  maxLength?: number;
  minLength?: number;
  hasPattern: boolean;
}

type ParameterSchema = Record<string, unknown>;

const maxParameters = 60;

/** What the tool and its server tell about parameters that do not speak for themselves. */
interface ParameterContext {
  /** The tool's own description. */
  said: string;
  /** The server has a word for folders, so its paths are files. */
  namesFolders: boolean;
}

const noContext: ParameterContext = { said: '', namesFolders: false };

export function readParameters(inputSchema: unknown, context: ParameterContext = noContext): Parameter[] {
  const schema = isObject(inputSchema) ? inputSchema : {};
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const entries = Object.entries(properties).slice(0, maxParameters);
  const parameters = entries.map(([name, value]) => {
    const own: ParameterSchema = isObject(value) ? value : {};
    const described = own.description === undefined ? { ...own, description: argumentText(context.said, name) } : own;
    return toParameter(name, described, required.has(name), context);
  });
  // A required parameter without a schema of its own can be anything.
  for (const name of required) {
    if (typeof name !== 'string' || Object.hasOwn(properties, name)) continue;
    parameters.push(toParameter(name, {}, true, context));
  }
  return parameters;
}

/** Python servers describe their arguments in the text of the tool: "Args:\n  since (str): The first day". */
function argumentText(said: string, name: string): string | undefined {
  const at = said.search(/\b(?:Args|Arguments|Parameters|Params):/);
  if (at < 0) return undefined;
  for (const line of said.slice(at).split('\n')) {
    const trimmed = line.trim().replace(/^[-*]\s*/, '');
    if (!trimmed.startsWith(name)) continue;
    const colon = trimmed.indexOf(':');
    const between = trimmed.slice(name.length, colon);
    if (colon > 0 && /^\s*(?:\([^)]*\))?\s*$/.test(between)) return trimmed.slice(colon + 1).trim();
  }
  return undefined;
}

function toParameter(name: string, schema: ParameterSchema, isRequired: boolean, context: ParameterContext): Parameter {
  const isList = !allows(schema, 'string') && allows(schema, 'array');
  const element = isList && isObject(schema.items) ? schema.items : {};
  const wrappedIn = onlyHandle(element);
  if (wrappedIn !== undefined) {
    const inner = toParameter(wrappedIn.name, wrappedIn.schema, isRequired, context);
    return { ...inner, name, isList, wrappedIn: wrappedIn.name };
  }
  const items = element;
  const inner = isList ? { ...items, description: items.description ?? schema.description } : schema;
  const type = typeOf(isList ? items : schema);
  return {
    name,
    role:
      isList && type === 'other' && Object.keys(items).length > 0
        ? { kind: 'other' }
        : roleOf(name, inner, type, context),
    isRequired,
    isList,
    type,
    ...(schema.default === undefined ? {} : { default: schema.default }),
    hasUsualValue:
      (typeof schema.default === 'string' && schema.default !== '') ||
      (typeof schema.description === 'string' && /\bdefaults? (?:to|is)\b|\(default/i.test(schema.description)),
    ...numbersOf(isList ? items : schema),
    hasPattern: typeof inner.pattern === 'string',
  };
}

/** `{path}` of the elements of a list, where it is all that they need. */
function onlyHandle(element: ParameterSchema): { name: string; schema: ParameterSchema } | undefined {
  const properties = isObject(element.properties) ? element.properties : {};
  const handles = Object.entries(properties).filter(([name]) => /^(?:path|file|uri|url|id|name)$/i.test(name));
  const required = Array.isArray(element.required) ? element.required : [];
  const [first] = handles;
  if (first === undefined || required.some((name) => name !== first[0])) return undefined;
  return { name: first[0], schema: isObject(first[1]) ? first[1] : {} };
}

function numbersOf({ maximum, minimum, maxLength, minLength }: ParameterSchema) {
  return Object.fromEntries(
    Object.entries({ maximum, minimum, maxLength, minLength }).filter(([, value]) => typeof value === 'number'),
  );
}

function typeOf(schema: ParameterSchema): Parameter['type'] {
  for (const type of ['string', 'integer', 'number', 'boolean'] as const) if (allows(schema, type)) return type;
  // Untyped parameters take what they are given.
  return schema.type === undefined && schema.anyOf === undefined && schema.oneOf === undefined ? 'string' : 'other';
}

export function allows(schema: ParameterSchema, type: string): boolean {
  if (schema.type === type) return true;
  if (Array.isArray(schema.type)) return schema.type.includes(type);
  const variants = [schema.anyOf, schema.oneOf].find(Array.isArray);
  return variants?.some((variant) => isObject(variant) && allows(variant, type)) ?? false;
}

function roleOf(
  name: string,
  schema: ParameterSchema,
  type: Parameter['type'],
  context: ParameterContext,
): ParameterRole {
  const words = nameWords(name);
  const said = typeof schema.description === 'string' ? schema.description.slice(0, 600) : '';
  const last = words.at(-1) ?? '';
  const values = choicesOf(schema, meantForWords.test(words.join(' ')) ? '' : said, type);
  if (values !== undefined) return { kind: 'choice', values };
  if (type === 'boolean') return { kind: 'flag' };
  if (type === 'other') return { kind: 'other' };
  const date = dateRole(words, schema, said, type, context.said);
  if (date !== undefined) return date;
  const paging = pagingRole(words.join(' '), type);
  if (paging !== undefined) return paging;
  if (type !== 'string') return numberRole(words, last);
  return textRole(words, said, schema, context);
}

const limitName =
  /^(?:max |num |number of |page |per |result )?(?:limit|count|max|top k|k|n|num|size|page size|per page|max results|num results|max items|results|rows|records|items|max count|max records|first|top|take)$/;

function pagingRole(name: string, type: Parameter['type']): ParameterRole | undefined {
  if (
    /(?:^| )(?:cursor|page token|next token|continuation token|continuation|after cursor|start cursor|pagetoken)$/.test(
      name,
    ) &&
    type === 'string'
  )
    return { kind: 'cursor' };
  if (type === 'string') {
    if (/^(?:limit|page size|per page|max results)$/.test(name)) return { kind: 'limit' };
    return name === 'page' ? { kind: 'page' } : name === 'offset' || name === 'after' ? { kind: 'cursor' } : undefined;
  }
  if (limitName.test(name)) return { kind: 'limit' };
  if (/^(?:page|page number|page no|page index|page idx|pagenum)$/.test(name)) return { kind: 'page' };
  return /^(?:offset|skip|start index|start at|from index|start)$/.test(name) ? { kind: 'offset' } : undefined;
}

const startWords = new Set('start from since after begin beginning min earliest gte gt lower'.split(' '));
const endWords = new Set('end to until till before max latest lte lt upper finish due'.split(' '));
const dateWords = new Set('date day time datetime timestamp ts unix epoch month year moment at on'.split(' '));
const saysDate = /\bdates?\b|\byyyy\b|iso[- ]?8601|rfc ?3339|\btimestamp\b|unix (?:time|epoch)|\bdate-?time\b/i;

/** Of the tool: its bare "start" and "end" are dates. */
const speaksOfTime =
  /\b(?:dates?|days?|times?|events?|calendar|schedule[ds]?|meetings?|appointments?|period|week|month)\b/i;
const dated = new Set('due created updated modified closed opened published sent received changed'.split(' '));

function dateRole(
  words: readonly string[],
  schema: ParameterSchema,
  said: string,
  type: Parameter['type'],
  ofTool: string,
): ParameterRole | undefined {
  const isFormat = schema.format === 'date' || schema.format === 'date-time';
  const isNamed = words.some(
    (word) => word === 'date' || word === 'day' || word === 'datetime' || word === 'timestamp',
  );
  const start = words.some((word) => startWords.has(word));
  const end = words.some((word) => endWords.has(word));
  const isEdge =
    (start || end) && words.every((word) => startWords.has(word) || endWords.has(word) || dateWords.has(word));
  const isMonth = words.length === 1 && (words[0] === 'month' || words[0] === 'year');
  const isWeek = type !== 'string' && (words.at(-1) === 'week' || /\b(?:calendar|iso) week\b/i.test(said));
  if (isWeek) return { kind: 'date', edge: 'day', format: 'week' };
  if (/HH:MM/i.test(said) && !/YYYY/i.test(said)) return { kind: 'time' };
  const isBareEdge =
    (words.length === 1 && (words[0] === 'since' || words[0] === 'until')) ||
    (isEdge && type === 'string' && speaksOfTime.test(ofTool)) ||
    (words.length === 2 && dated.has(words[0] ?? '') && (words[1] === 'before' || words[1] === 'after'));
  const spellsDay =
    type === 'string' &&
    (/\bYYYY-MM(?:-DD)?\b/i.test(said) || writtenDate.test(said) || dayPattern(schema) !== undefined) &&
    !idAttributes.has(words.at(-1) ?? '') &&
    !meantForWords.test(words.join(' '));
  const saysSo =
    isNamed ||
    isBareEdge ||
    isMonth ||
    spellsDay ||
    (isEdge && (saysDate.test(said) || words.some((word) => word === 'time' || word === 'ts' || word === 'epoch')));
  if (!isFormat && !saysSo) return undefined;
  if (words.includes('zone')) return undefined;
  // A message's own time stamp names the message.
  if (words.includes('timestamp') && !start && !end && type === 'string' && !saysDate.test(said)) return undefined;
  const format = dateFormat(words, schema, said, type);
  const pattern = format === 'written' ? { pattern: writtenDate.exec(said)?.[0] ?? dayPattern(schema) ?? '' } : {};
  return { kind: 'date', edge: start ? 'start' : end ? 'end' : 'day', format, ...pattern };
}

function dateFormat(
  words: readonly string[],
  schema: ParameterSchema,
  said: string,
  type: Parameter['type'],
): DateFormat {
  if (type !== 'string')
    return words.includes('year')
      ? 'year'
      : words.includes('month')
        ? 'month'
        : /milli/i.test(said)
          ? 'milliseconds'
          : 'seconds';
  if (schema.format === 'date') return 'day';
  if (schema.format === 'date-time' || (typeof schema.pattern === 'string' && schema.pattern.includes('T\\d')))
    return 'moment';
  if (writtenDate.test(said) || dayPattern(schema) !== undefined) return 'written';
  if (/YYYY-MM(?!-D)/i.test(said) || (words.length === 1 && words[0] === 'month')) return 'month';
  if (words.length === 1 && words[0] === 'year') return 'year';
  if (/YYYY-MM-DD(?!['"]?T)/i.test(said) && !/THH|T\d\d|hh:mm/i.test(said)) return 'day';
  if (/rfc ?3339|date-?time|THH|T\d\d:/i.test(said) && !/\d{4}-\d\d-\d\d['")\s,]/.test(said)) return 'moment';
  if (words.includes('time') && !words.includes('date') && /iso/i.test(said)) return 'moment';
  const isTold = words.includes('date') || words.includes('day') || /\d|yyyy|iso|\bdates?\b/i.test(said);
  return isTold ? 'day' : 'unsaid';
}

/** Days that are not spelt as ISO 8601 does it. */
const writtenDate = /\b(?:D{1,2}([./-])M{1,2}\1Y{2,4}|M{1,2}([./-])D{1,2}\2Y{2,4}|YYYY([./])MM\3DD|YYYYMMDD)\b/i;

/** `^\d{2}\.\d{2}\.\d{4}$` in a schema is a day in any language. */
function dayPattern({ pattern }: ParameterSchema): string | undefined {
  if (typeof pattern !== 'string') return undefined;
  const shape = pattern.replaceAll(/\\d\{(\d)(?:,\d)?\}|\[0-9\]\{(\d)\}/g, (_whole, a, b) =>
    'd'.repeat(Number(a ?? b)),
  );
  const found = /^\^?(dd?)\\?([./-])(dd?)\\?\2(dddd)\$?$/.exec(shape);
  return found === null ? undefined : `DD${found[2]}MM${found[2]}YYYY`;
}

function numberRole(words: readonly string[], last: string): ParameterRole {
  if (numberAttributes.has(last))
    return { kind: 'handle', noun: nounOf(words.slice(0, -1)), attribute: last === 'id' ? 'id' : 'number' };
  return { kind: 'other' };
}

const numberAttributes = new Set('id number no nr num iid pid index'.split(' '));
const idAttributes = new Set(
  'id ids uid uids uuid guid key keys slug sha hash ref code ts handle identifier ein isbn sku urn oid'.split(' '),
);
const nameAttributes = new Set('name names title titles username login'.split(' '));

const meantForWords =
  /^(?:q|query|queries|search|search (?:query|term|terms|text|string|phrase|words)|question|prompt|keyword|keywords|term|terms|phrase|user query|natural language query|text query|what|search for|words|needle|(?:text|string|words?|phrase|pattern) to (?:find|search|match|look for)|find text|search in text)$/;
const takesWords =
  /^(?:topic|subject|text|input|concept|request|task|content|contents|contains|words|body|message|about|term|filter|match)$/;
const describedAsWords =
  /\b(?:search (?:query|term|text|phrase|string|for)|search terms?|free[- ]text|full[- ]text|quer(?:y|ies) (?:to|string|text)|the question|keywords?|look(?:ing)? for|text to (?:search|find|match))\b/i;
const ownLanguage =
  /\b(?:graphql|cypher|sparql|promql|logql|jsonpath|xpath|jq|css selector|kql|jql|cel|odata|formula|mongodb?|filter object)\b/i;
const saysSql = /\bsql\b|\bselect (?:query|statement|sql|\*)/i;
const notHandles = new Set(
  'content contents body message description summary comment value values data payload html markdown code script expression formula equation command thought template range cell cells format language lang sort order direction output mode style color unit units fields field select include exclude expand locale region theme encoding'.split(
    ' ',
  ),
);

function textRole(
  words: readonly string[],
  said: string,
  schema: ParameterSchema,
  context: ParameterContext,
): ParameterRole {
  const name = words.join(' ');
  const last = words.at(-1) ?? '';
  if (/time ?zone|^tz$/.test(name))
    return { kind: 'zone', side: /\b(?:target|to|destination)\b/.test(name) ? 'target' : 'source' };
  if (/\bdummy\b|\bno-parameter\b/i.test(said)) return { kind: 'fixed', value: 'all' };
  if (/['"`]?\*['"`]? (?:for|to|=|lists?|matches|returns) /.test(said)) return { kind: 'fixed', value: '*' };
  if (name === 'sql' || (/^(?:sql )?(?:query|statement)$/.test(name) && (saysSql.test(said) || name.startsWith('sql'))))
    return { kind: 'sql' };
  if (saysSql.test(said) && (meantForWords.test(name) || name === 'statement')) return { kind: 'sql' };
  // "Execute a SQL query": where the parameter says nothing, the tool does.
  if (said === '' && (name === 'query' || name === 'statement') && saysSql.test(context.said)) return { kind: 'sql' };
  const isExpression = name === 'expression' && /regex|regular expression/i.test(said);
  if (isExpression || /^(?:file |exclude |include )?(?:pattern|glob|regex|regexp|grep)s?$/.test(name)) {
    // "filePattern" narrows a search; it is not what is searched for.
    if (words.length > 1) return { kind: 'other' };
    return {
      kind: 'words',
      style: /\bglob\b|wildcard|\*\./i.test(`${name} ${said}`) ? 'glob' : 'regex',
      isMeant: true,
    };
  }
  const language = languageOf(name, said);
  if (language !== undefined) return { kind: 'words', style: 'literal', isMeant: true, language };
  // The name of a metric is an expression that gives its value.
  if (/\bpromql\b/i.test(said) && meantForWords.test(name))
    return { kind: 'handle', noun: 'metric', attribute: 'name' };
  if (meantForWords.test(name)) {
    if (ownLanguage.test(said) && !/natural language|keyword|free text/i.test(said)) return { kind: 'other' };
    return { kind: 'words', style: styleOf(said), isMeant: true };
  }
  if (schema.format === 'uri' || /^(?:ur[il]s?|link|href|address url)$/.test(last))
    return { kind: 'handle', noun: nounOf(words.slice(0, -1)), attribute: 'uri' };
  const place = pathRole(words, said, context);
  if (place !== undefined) return place;
  if (idAttributes.has(last)) return { kind: 'handle', noun: nounOf(words.slice(0, -1)), attribute: 'id' };
  if (nameAttributes.has(last)) return { kind: 'handle', noun: nounOf(words.slice(0, -1)), attribute: 'name' };
  if (takesWords.test(name) || describedAsWords.test(said)) {
    if (ownLanguage.test(said)) return { kind: 'other' };
    return { kind: 'words', style: styleOf(said), isMeant: describedAsWords.test(said) && takesWords.test(name) };
  }
  if (notHandles.has(last)) return { kind: 'other' };
  return { kind: 'handle', noun: nounOf(words), attribute: 'any' };
}

function languageOf(name: string, said: string): TextLanguage | undefined {
  if (name !== 'jql' && name !== 'cql' && !meantForWords.test(name)) return undefined;
  if (/simple text|plain text|natural language|keyword/i.test(said)) return undefined;
  if (name === 'jql' || /\bjql\b/i.test(said)) return 'jql';
  return name === 'cql' || /\bcql\b/i.test(said) ? 'cql' : undefined;
}

const saysFile = /\b(?:files?|documents?|workbook|spreadsheet|notes?|pdf|image)\b/i;
const folderWords = new Set('dir directory folder root workspace cwd vault repository repo workdir'.split(' '));

function pathRole(
  words: readonly string[],
  said: string,
  { namesFolders }: ParameterContext,
): ParameterRole | undefined {
  const last = words.at(-1) ?? '';
  const isFolder =
    words.some((word) => folderWords.has(word)) ||
    (/\b(?:directory|folder)\b/i.test(said) && !/\bfiles?\b/i.test(said));
  if (last === 'path' || last === 'paths' || last === 'filepath' || last === 'dirname')
    return {
      kind: 'handle',
      noun: nounOf(words.slice(0, -1)),
      attribute: isFolder && !words.includes('file') ? 'folder' : 'path',
      isCertain:
        isFolder ||
        namesFolders ||
        words.includes('file') ||
        (saysFile.test(said) && !/\b(?:director|folder)/i.test(said)),
    };
  if (/^(?:file|filename|files|filenames|document|doc)$/.test(last) || (last === 'name' && words.at(-2) === 'file'))
    return { kind: 'handle', noun: 'file', attribute: 'path', isCertain: true };
  if (
    words.length === 1 &&
    (last === 'dir' ||
      last === 'directory' ||
      last === 'folder' ||
      last === 'cwd' ||
      last === 'root' ||
      last === 'workspace')
  )
    return { kind: 'handle', noun: '', attribute: 'folder' };
  return undefined;
}

const inNames =
  /\bby (?:its |their )?(?:\w+ )?(?:name|title|filename)s?\b|(?:name|title|filename)s? (?:contain|match|include)|match(?:es|ing)? (?:partial |file ?)?(?:names?|titles?)/i;

/** Asked of the tool's description as well, where the parameter's own says nothing. */
export function styleOf(said: string): SearchStyle {
  if (/semantic|natural language|by meaning|similar|embedding|vector|relevan|question/i.test(said)) return 'meaning';
  if (inNames.test(said)) return 'name';
  if (/\bglob\b/i.test(said)) return 'glob';
  if (/regex|regular expression|ripgrep|\bgrep\b/i.test(said)) return 'regex';
  if (/keyword|substring|exact|literal|contain|case[- ](?:in)?sensitive|like\b|matching text|partial match/i.test(said))
    return 'literal';
  return 'any';
}

function nounOf(words: readonly string[]): string {
  return singular(words.filter((word) => !fillers.has(word)).at(-1) ?? '');
}

const fillers = new Set('the a of target source src input my your by new old'.split(' '));

/** An enumeration, or one that only the description spells out: ('local'), ('remote') or ('all'). */
function choicesOf(schema: ParameterSchema, said: string, type: Parameter['type']): readonly unknown[] | undefined {
  if (schema.const !== undefined) return [schema.const];
  if (Array.isArray(schema.enum)) return schema.enum;
  const constants = [schema.anyOf, schema.oneOf].find(Array.isArray)?.flatMap((variant) => {
    if (!isObject(variant)) return [];
    return Array.isArray(variant.enum) ? variant.enum : variant.const === undefined ? [] : [variant.const];
  });
  if (constants !== undefined && constants.length > 0) return constants;
  if (type !== 'string') return undefined;
  const quoted = [...said.matchAll(/['"`]([a-z][\w-]{1,20})['"`]/g)].map((found) => found[1] ?? '');
  const isListed =
    quoted.length >= 2 && /\b(?:either|one of|or)\b|\|/.test(said) && !/e\.g\.|for example|such as/i.test(said);
  return isListed ? [...new Set(quoted)] : undefined;
}
