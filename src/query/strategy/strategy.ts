/**
 * How a server can be asked: worked out from the definitions of its tools and resources alone, once, when they are
 * discovered. Pure: the same definitions give the same strategy.
 */
import { isObject } from '../../json-rpc.ts';
import { singular } from '../../similarity/stem.ts';
import { type Parameter, readParameters, type SearchStyle, styleOf } from './parameters.ts';
import { changes, isRemoteControl, judgeReadOnly, nameWords, type ReadTraits, readsByName } from './read-only.ts';

export interface StrategyTool extends ReadTraits {
  inputSchema?: unknown;
}

export interface StrategyResource {
  uri: string;
  name: string;
  description: string;
  mimeType?: string;
}

export interface StrategyTemplate extends Omit<StrategyResource, 'uri'> {
  uriTemplate: string;
  variables: readonly string[];
}

/**
 * `search` takes words. `list` enumerates things. `read` takes a handle and gives the thing. `report` takes nothing and
 * says one thing. `sql` takes a statement.
 */
type OperationKind = 'search' | 'list' | 'read' | 'report' | 'sql';

export interface Operation {
  tool: string;
  /** Names the operation among those of its server. */
  key: string;
  kind: OperationKind;
  /** The product that its name begins with, where a server has tools of several. */
  namespace: string;
  /** `lookup(what: "fees" | "fixtures")` is one operation for each value. */
  preset: Readonly<Record<string, unknown>>;
  /** What the tool says of itself, for judging whether it fits a question. */
  about: string;
  parameters: readonly Parameter[];
  /** Handles that must be known before it can be called. */
  needs: readonly Parameter[];
  /** Handles that need not be given: without them it lists the root, or what is usual. */
  narrows: readonly Parameter[];
  /** The one that takes the words or the statement. */
  input?: Parameter;
  style?: SearchStyle;
  /** What it lists, finds or reads: "table", "issue", "file"; empty where nothing says. */
  noun: string;
  /** Lists what is below as well, or returns everything there is. */
  isWhole: boolean;
  /** Among tools that do the same, the higher is tried first. */
  preference: number;
}

export interface Strategy {
  operations: readonly Operation[];
  resources: readonly StrategyResource[];
  templates: readonly StrategyTemplate[];
  /** Tools that are never called for a question, and why. */
  leftOut: readonly { tool: string; reason: string }[];
}

export interface StrategyInput {
  tools: readonly StrategyTool[];
  resources?: readonly StrategyResource[];
  templates?: readonly StrategyTemplate[];
  /** Tools that an administrator vouches for. */
  readers?: readonly string[];
}

export function workOutStrategy(input: StrategyInput): Strategy {
  const work = strategySteps(input);
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** In slices: a server may have a thousand tools. */
export function* strategySteps({
  tools,
  resources = [],
  templates = [],
  readers = [],
}: StrategyInput): Generator<void, Strategy> {
  const operations: Operation[] = [];
  const leftOut: { tool: string; reason: string }[] = [];
  const isRemote = isRemoteControl(tools);
  const namesFolders = tools.some(takesFolder);
  const prefixes = findPrefixes(tools);
  for (const tool of tools) {
    yield;
    const isNamed = readers.includes(tool.name);
    const verdict = isNamed ? { reads: true as const } : judgeReadOnly(tool, prefixes);
    if (!verdict.reads) leftOut.push({ tool: tool.name, reason: verdict.reason });
    else if (isRemote && !isNamed) leftOut.push({ tool: tool.name, reason: 'its server is a remote control' });
    else {
      const found = toOperations(tool, prefixes, namesFolders);
      if ('reason' in found) leftOut.push({ tool: tool.name, reason: found.reason });
      else operations.push(...found.operations);
    }
  }
  return { operations: withNarrowing(operations), resources, templates, leftOut };
}

/** `list_directory(path?)`, `get_events(calendar_id = "primary")`: what lists the folders or calendars leads to the rest. */
function withNarrowing(operations: readonly Operation[]): Operation[] {
  const listed = new Set(
    operations
      .filter(({ kind, needs, noun }) => kind === 'list' && needs.length === 0 && noun !== '')
      .map(({ noun }) => noun),
  );
  return operations.map((operation) => ({
    ...operation,
    narrows: operation.parameters.filter(({ role, isRequired, hasUsualValue, isList }) => {
      if (role.kind !== 'handle' || isRequired || isList) return false;
      // Without a path they answer what is at the root.
      if (role.attribute === 'folder' || role.attribute === 'path')
        return operation.kind === 'list' || operation.kind === 'read';
      return hasUsualValue && role.noun !== operation.noun && listed.has(role.noun);
    }),
  }));
}

export const canBeAsked = ({ operations, resources, templates }: Strategy): boolean =>
  operations.some(({ needs, kind }) => needs.length === 0 || kind !== 'report') ||
  resources.length > 0 ||
  templates.length > 0;

const describedChars = 4_000;

type Operations = { operations: Operation[] } | { reason: string };

function toOperations(tool: StrategyTool, prefixes: ReadonlySet<string>, namesFolders: boolean): Operations {
  const parameters = readParameters(tool.inputSchema, {
    said: (tool.description ?? '').slice(0, describedChars),
    namesFolders,
  }).map(withoutActs);
  const hasNoReading = (own: Parameter) => own.role.kind === 'choice' && own.role.values.length === 0 && isAct(own);
  if (parameters.some(hasNoReading)) return { reason: onlyActs };
  const unusable = parameters.find((parameter) => parameter.isRequired && !isFillable(parameter));
  if (unusable !== undefined) return { reason: `required parameter "${unusable.name}" cannot be filled safely` };
  const found = variantsOf(tool, parameters).map((variant) => operationsOf(tool, prefixes, parameters, variant));
  const operations = found.flatMap((own) => ('operations' in own ? own.operations : []));
  return operations.length > 0 ? { operations } : (found[0] ?? { reason: onlyActs });
}

const onlyActs = 'every way to call it changes something';
const actNames = new Set('action operation op command cmd method verb'.split(' '));
const isAct = ({ name }: Parameter): boolean => actNames.has(nameWords(name).at(-1) ?? '');
const isReading = (value: unknown): boolean => typeof value === 'string' && readsByName(nameWords(value));

/** `action: "list" | "update" | "fix"`: its values are verbs, and only those that are known to read are used. */
function withoutActs(parameter: Parameter): Parameter {
  const { role, default: preset, ...rest } = parameter;
  if (role.kind !== 'choice' || !isAct(parameter)) return parameter;
  const reading = { ...role, values: role.values.filter(isReading) };
  if (preset === undefined || isReading(preset)) return { ...parameter, role: reading };
  // Left out, the tool would do what it does by default.
  return { ...rest, role: reading, isRequired: true };
}

interface Variant {
  preset: Operation['preset'];
  /** Words that the value adds to the name of the tool. */
  words: readonly string[];
  /** What the description says about the value: "fees (membership)". */
  said: string;
}

const wholeTool: Variant = { preset: {}, words: [], said: '' };
const maxVariants = 12;

/** A required choice that nothing decides makes one operation for each value; those that change something are left out. */
function variantsOf({ inputSchema }: StrategyTool, parameters: readonly Parameter[]): Variant[] {
  const choice = parameters.find(
    ({ role, isRequired, default: preset, isList }) =>
      role.kind === 'choice' && isRequired && preset === undefined && !isList && role.values.length > 1,
  );
  if (choice?.role.kind !== 'choice') return [wholeTool];
  const values = choice.role.values.filter((value) => typeof value === 'string');
  const hasEvery = values.some((value) => everyValue.has(value.toLowerCase()));
  if (values.length === 0 || values.length > maxVariants || hasEvery) return [wholeTool];
  const said = descriptionOf(inputSchema, choice.name);
  return values
    .map((value) => ({ preset: { [choice.name]: value }, words: nameWords(value), said: explanationOf(value, said) }))
    .filter(({ words }) => words.length === 0 || !changes(words));
}

/** Values that mean all others together. */
export const everyValue: ReadonlySet<string> = new Set(['all', 'any', 'both', 'everything', '*']);

function descriptionOf(inputSchema: unknown, name: string): string {
  const properties = isObject(inputSchema) && isObject(inputSchema.properties) ? inputSchema.properties : {};
  const own = properties[name];
  return isObject(own) && typeof own.description === 'string' ? own.description.slice(0, describedChars) : '';
}

const explanationChars = 120;

/** "fees (membership)", "get - Get details": what follows the value up to the next separator. */
function explanationOf(value: string, said: string): string {
  const at = said.indexOf(value);
  if (at < 0) return '';
  const rest = said.slice(at + value.length, at + value.length + explanationChars);
  return /^['"`]?\s*(?:\(([^)]*)|[-–:=]\s*([^.;\n]*))/.exec(rest)?.slice(1).find(Boolean) ?? '';
}

function operationsOf(
  tool: StrategyTool,
  prefixes: ReadonlySet<string>,
  parameters: readonly Parameter[],
  variant: Variant,
): Operations {
  const common = describeTool(tool, prefixes, parameters, variant);
  const sql = parameters.find(({ role }) => role.kind === 'sql');
  if (sql !== undefined) return { operations: [{ ...common, kind: 'sql', input: sql }] };

  const words = parameters.filter(({ role }) => role.kind === 'words').toSorted(byUse)[0];
  const nameParts = [...nameWords(tool.name), ...variant.words];
  const takesWords =
    words !== undefined &&
    words.role.kind === 'words' &&
    (words.role.isMeant || nameParts.some((verb) => searchVerbs.has(verb)));
  if (words?.isRequired === true && !takesWords) return { reason: `"${words.name}" is not meant for a question` };
  const byName = takesWords ? undefined : nameSearched(common, nameParts);
  if (byName !== undefined)
    return {
      operations: [
        {
          ...common,
          kind: 'search',
          input: byName,
          style: 'name',
          needs: common.needs.filter((need) => need !== byName),
        },
      ],
    };
  const isRead = common.needs.some(({ role }) => role.kind === 'handle' && role.attribute !== 'folder');
  const kind = common.isListing ? 'list' : isRead ? 'read' : 'report';
  const withoutWords: Operation[] = words?.isRequired === true ? [] : [{ ...common, kind }];
  if (!takesWords) return { operations: withoutWords };
  const own = words.role.kind === 'words' ? words.role.style : 'any';
  const style = own === 'any' || own === 'regex' ? styleFor(own, nameParts, tool.description ?? '') : own;
  return { operations: [{ ...common, kind: 'search', input: words, style }, ...withoutWords] };
}

/** `find_contacts(name)`: a name that is searched for, not one that must be known. */
function nameSearched({ needs }: Described, words: readonly string[]): Parameter | undefined {
  if (!words.some((word) => word === 'find' || word === 'search' || word === 'lookup')) return undefined;
  const named = needs.filter(
    ({ role, type }) =>
      role.kind === 'handle' && type === 'string' && (role.attribute === 'name' || role.attribute === 'any'),
  );
  return named.length === 1 && needs.length === 1 ? named[0] : undefined;
}

const byUse = (a: Parameter, b: Parameter): number =>
  Number(meant(b)) - Number(meant(a)) || Number(b.isRequired) - Number(a.isRequired);
const meant = ({ role }: Parameter): boolean => role.kind === 'words' && role.isMeant;

function styleFor(own: SearchStyle, nameParts: readonly string[], description: string): SearchStyle {
  // A pattern is an expression, unless files are looked for.
  if (own === 'regex') return nameParts.some((word) => lookedFor.has(singular(word))) ? 'glob' : 'regex';
  return styleOf(description);
}

const lookedFor = new Set('file path document glob'.split(' '));

const searchVerbs = new Set('search find lookup look query ask grep locate match recall retrieve discover'.split(' '));

/** Handles and dates come from elsewhere, words from the question; what is left must have a value of its own. */
function isFillable({ role, default: preset }: Parameter): boolean {
  if (preset !== undefined) return true;
  return role.kind !== 'other' && role.kind !== 'cursor';
}

const minPrefixed = 3;
const prefixedShare = 0.15;

/** `jira_search`, `jira_get_issue`, `confluence_search`: words that many names begin with are names of products. */
function findPrefixes(tools: readonly StrategyTool[]): ReadonlySet<string> {
  const firsts = Map.groupBy(tools, ({ name }) => nameWords(name)[0] ?? '');
  const isPrefix = ([word, users]: [string, readonly StrategyTool[]]): boolean =>
    users.length >= minPrefixed &&
    users.length > prefixedShare * tools.length &&
    !saysWhatIsDone(word) &&
    // What is listed and read under its own name is a thing: task_list, task_view.
    (users.length > 0.6 * tools.length || users.every(({ name }) => nameWords(name).length > 2));
  return new Set([...firsts].filter(isPrefix).map(([word]) => word));
}

const saysWhatIsDone = (word: string): boolean => verbs.has(word) || gets.has(word) || changes([word]);

interface Described extends Omit<Operation, 'kind'> {
  isListing: boolean;
}

function describeTool(
  tool: StrategyTool,
  prefixes: ReadonlySet<string>,
  parameters: readonly Parameter[],
  { preset, words: valueWords, said: ofValue }: Variant,
): Described {
  const all = [...nameWords(tool.name), ...valueWords];
  const words = withoutMethod(prefixes.has(all[0] ?? '') ? all.slice(1) : all);
  const said = `${tool.title ?? ''}. ${tool.description ?? ''}`.slice(0, 600);
  const isListing = lists(words, said, parameters);
  const required = parameters.filter(
    ({ role, isRequired, default: given }) => role.kind === 'handle' && isRequired && given === undefined,
  );
  const needs = (required.length > 0 || isListing ? required : idOf(words, parameters)).map((parameter) =>
    isListing ? asFolder(parameter) : parameter,
  );
  return {
    tool: tool.name,
    key: [tool.name, ...Object.values(preset)].join(' '),
    namespace: prefixes.has(all[0] ?? '') ? (all[0] ?? '') : '',
    preset,
    about: [all.join(' '), ofValue, firstSentence(tool.description ?? tool.title ?? '')].filter(Boolean).join('. '),
    parameters: isListing ? parameters.map(asFolder) : parameters,
    needs,
    narrows: [],
    noun: nounOf(words),
    isWhole: /\b(?:recursive(?:ly)?|tree|entire|whole|everything|complete|full (?:list|graph))\b/i.test(
      `${words.join(' ')} ${said}`,
    ),
    preference: preferenceOf(words, said, parameters),
    isListing,
  };
}

/** `get_page(page_id?, title?)`: one of several ways to say which, none of them required by the schema. */
function idOf(words: readonly string[], parameters: readonly Parameter[]): Parameter[] {
  if (!words.some((word) => gets.has(word))) return [];
  const noun = nounOf(words);
  const id = parameters.find(
    ({ role, isList }) =>
      role.kind === 'handle' &&
      !isList &&
      (role.attribute === 'id' || role.attribute === 'number' || role.attribute === 'path') &&
      (role.noun === noun || role.noun === '') &&
      noun !== '',
  );
  return id === undefined ? [] : [{ ...id, isRequired: true }];
}

/** `API-post-search`: the method of an HTTP interface says nothing where a verb follows. */
function withoutMethod(words: readonly string[]): readonly string[] {
  return words[0] === 'post' && (searchVerbs.has(words[1] ?? '') || gets.has(words[1] ?? '')) ? words.slice(1) : words;
}

/** `list_workbooks(directory)`: where a folder is called a folder, a path is a file. */
function takesFolder({ inputSchema }: StrategyTool): boolean {
  const properties = isObject(inputSchema) && isObject(inputSchema.properties) ? inputSchema.properties : {};
  return Object.keys(properties).some((name) => /^(?:dir|directory|folder|directory_?path|folder_?path)$/i.test(name));
}

/** A tool that searches or lists takes the place where it looks; one that reads takes the thing itself. */
function asFolder(parameter: Parameter): Parameter {
  const { role } = parameter;
  return role.kind === 'handle' && role.attribute === 'path' && role.isCertain !== true
    ? { ...parameter, role: { ...role, attribute: 'folder' } }
    : parameter;
}

const listWords = new Set(
  'list tree browse index enumerate log logs history recent all feed inbox ls dir catalog agenda'.split(' '),
);
const single = new Set(
  'status details detail info information stats statistics settings news contents content series analysis summary address progress access business class process'.split(
    ' ',
  ),
);
const gets = new Set('get fetch show retrieve read view'.split(' '));

function lists(words: readonly string[], said: string, parameters: readonly Parameter[]): boolean {
  const last = words.at(-1) ?? '';
  if (words.some((word) => listWords.has(word) || word === 'search' || word === 'find' || word === 'grep')) return true;
  const isPlural = last.endsWith('s') && !last.endsWith('ss') && !single.has(last);
  const takesThing = parameters.some(({ role, isRequired, isList }) => role.kind === 'handle' && isRequired && isList);
  if (isPlural && !takesThing && words.some((word) => gets.has(word))) return true;
  return /^\W*(?:\w+ )?(?:lists?|list of|returns? (?:a |the )?list)\b/i.test(said.replace(/^\. /, ''));
}

const tails = new Set(
  'history list tree log logs details detail info contents content results result all by id ids name with sizes allowed text multiple for in of and from to a the recent latest current my entire full data items'.split(
    ' ',
  ),
);
const verbs = new Set(
  'search find get list lookup resolve read query fetch show describe browse retrieve view ask recall count check inspect open enumerate explore locate grep api advanced semantic execute run perform filter'.split(
    ' ',
  ),
);

function nounOf(words: readonly string[]): string {
  return singular(words.filter((word) => !tails.has(word) && !verbs.has(word)).at(-1) ?? '');
}

/** For readers: the contents before facts about them. For all: what is meant to be used before what is deprecated. */
function preferenceOf(words: readonly string[], said: string, parameters: readonly Parameter[]): number {
  let preference = 0;
  const name = words.join(' ');
  if (/\b(?:read|content|contents|text|full|markdown|document|body|children|blocks)\b/.test(name)) preference += 2;
  if (/\bcontents?\b|\bfull text\b|\bcomplete\b/i.test(said)) preference += 1;
  if (
    /\b(?:info|metadata|stat|stats|size|exists|permissions?|restrictions?|media|image|binary|thumbnail|blame|diff|schema|count|types|propert(?:y|ies)|labels?|colors?|watchers|views|reactions?|backlinks|outlinks|links|similar|related|neighborhood|dependencies)\b/.test(
      name,
    )
  )
    preference -= 3;
  if (/\bmetadata\b|\bbase64\b|\bbinary\b/i.test(said)) preference -= 1;
  if (/\bdeprecated\b/i.test(said)) preference -= 2;
  // Many at once cost one call.
  if (parameters.some(({ role, isRequired, isList }) => role.kind === 'handle' && isRequired && isList))
    preference += 1;
  if (words.includes('advanced')) preference -= 1;
  return preference;
}

function firstSentence(text: string): string {
  const flat = text.slice(0, 1_000).replace(/\s+/g, ' ').trim();
  const end = flat.search(/[.!?](?:\s|$)/);
  return (end < 0 ? flat : flat.slice(0, end)).slice(0, 300);
}

/** From what `resources/list` and `resources/templates/list` answered. */
export function toResource(definition: Record<string, unknown>): StrategyResource {
  const text = (key: string): string => (typeof definition[key] === 'string' ? definition[key] : '');
  return {
    uri: text('uri'),
    name: [...new Set([text('title'), text('name')])].filter((part) => part !== '').join(' '),
    description: text('description').slice(0, 500),
    ...(definition.mimeType === undefined ? {} : { mimeType: text('mimeType') }),
  };
}

export function toTemplate(definition: Record<string, unknown>): StrategyTemplate {
  const { uri: _none, ...rest } = toResource(definition);
  const uriTemplate = typeof definition.uriTemplate === 'string' ? definition.uriTemplate : '';
  // RFC 6570 without its operators: `{name}`, `{+path}`, `{?a,b}`.
  const variables = [...uriTemplate.matchAll(/\{[+#./;?&]?([\w,*]+)\}/g)].flatMap(([, names = '']) =>
    names.replaceAll('*', '').split(','),
  );
  return { ...rest, uriTemplate, variables };
}
