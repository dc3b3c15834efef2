/** Server lists of MCP clients, in every spelling that is out there, turned into registrations. Pure. */
import { isAbsolute, join, sep } from 'node:path';
import { isDeeperThan } from '../json-size.ts';
import { isLoopback } from '../loopback.ts';
import { referencesTo, replaceBraced } from '../security/variables.ts';
import { type ConfigEntry, findEntries, isObject, mapStrings, toText } from './client-entries.ts';
import type { Dialect } from './client-files.ts';
import { type Registration, registration } from './server.ts';

/** Where a server stands in the file. */
export interface ImportPlace {
  key: string;
  /** The project that it is listed under. */
  project?: string;
}

export interface ImportedServer {
  /** The name in the file, before it was made legal. */
  key: string;
  /** Everywhere that it stands: Claude Code repeats a server in every project that uses it. */
  places: ImportPlace[];
  registration: Registration;
  /** What was changed or left out on the way. */
  warnings: string[];
  /** Values that the client would ask its user for, and that are not known. */
  inputs: ImportInput[];
}

export interface ImportInput {
  id: string;
  description: string;
  isSecret: boolean;
}

interface ImportProblem {
  key: string;
  reason: string;
  /** Left out on purpose; nothing is wrong with it. */
  skipped?: true;
}

interface ImportedConfig {
  servers: ImportedServer[];
  problems: ImportProblem[];
}

export interface ImportOptions {
  /** Our own address: an entry that points at us would have us call ourselves. */
  self?: string;
  dialect?: Dialect;
  /** The directory that the file belongs to. */
  project?: string;
  /** Of the user whose files these are. */
  home?: string;
  /** Of the user: what entries take from it is put in, because the aggregator may run with another one. */
  environment?: Readonly<Record<string, string | undefined>>;
  /** Written for a client: what only the aggregator knows is not executed from there. */
  isClientFile?: boolean;
  /** What the user answered to inputs. */
  answers?: ReadonlyMap<string, string>;
}

export function fromClientConfig(json: unknown, options: ImportOptions = {}): ImportedConfig {
  // What reads entries goes down into them; a YAML alias may even lead to what it stands in.
  if (isDeeperThan(json, maxDepth)) {
    return { servers: [], problems: [{ key: '', reason: `is nested more than ${maxDepth} levels deep` }] };
  }
  const found = findEntries(json, options.dialect, options.project);
  if (found === undefined) {
    return { servers: [], problems: [{ key: '', reason: 'contains no "mcpServers" or "servers"' }] };
  }
  const servers: ImportedServer[] = [];
  const problems: ImportProblem[] = [];
  const names = createNames();
  const declared = inputsIn(json);

  for (const { key, entry, project, skipped } of found) {
    const place = project === undefined || project === options.project ? { key } : { key, project };
    const reason = pointsAtUs(entry, options.self) ? 'is mcp-aggregator itself' : skipped;
    if (reason !== undefined) {
      problems.push({ key, reason, skipped: true });
      continue;
    }
    const draft = toDraft(entry, { ...options, project, declared });
    if (options.isClientFile === true && hasSecretSource(draft.fields)) {
      problems.push({ key, reason: 'refers to ${command:…} or ${keychain:…}, which no client has' });
      continue;
    }
    if (draft.editorOnly !== undefined) {
      const reason = `uses ${draft.editorOnly}, which only the editor knows: replace it with a path`;
      problems.push({ key, reason, skipped: true });
      continue;
    }
    const content = draft.identity;
    const name = names.find(toLegalName(key), content);
    if (typeof name !== 'string') {
      name.places.push(place);
      continue;
    }
    if (name !== key) draft.warnings.unshift(`"${key}" became "${name}"`);
    const parsed = registration.safeParse({ name, ...draft.fields });
    if (parsed.success) {
      const places = [place];
      names.take(name, { content, places });
      servers.push({ key, places, registration: parsed.data, warnings: draft.warnings, inputs: draft.inputs });
    } else {
      const reasons = parsed.error.issues.map(({ path, message }) =>
        path.length === 0 || message.includes(String(path.at(-1))) ? message : `${path.join('.')}: ${message}`,
      );
      problems.push({ key, reason: reasons.join('; ') });
    }
  }
  return { servers, problems };
}

const maxDepth = 200;

const hasSecretSource = (fields: ConfigEntry): boolean =>
  referencesTo(fields, 'command').length + referencesTo(fields, 'keychain').length > 0;

/** What a client asks its user for, once: VS Code's `inputs`. */
type DeclaredInputs = ReadonlyMap<string, { description: string; default?: string; isSecret: boolean }>;

function inputsIn(json: unknown): DeclaredInputs {
  const settings = isObject(json) && isObject(json.mcp) ? json.mcp : {};
  const given = isObject(json) ? (json.inputs ?? settings.inputs) : undefined;
  const inputs = (Array.isArray(given) ? given : []).filter(isObject);
  return new Map(
    inputs.map(({ id, description, default: preset, password }) => [
      String(id),
      {
        description: typeof description === 'string' ? description : String(id),
        isSecret: password === true,
        ...(typeof preset === 'string' ? { default: preset } : {}),
      },
    ]),
  );
}

const kept = ['description', 'health_check_url', 'auto_connect', 'options', 'tool_overrides'] as const;
const understood = new Set<string>([
  ...['name', 'type', 'transport', 'transportType', 'transport_type', 'connection_config', 'env_file', 'envFile'],
  ...[
    'command',
    'args',
    'env',
    'cwd',
    'url',
    'serverUrl',
    'httpUrl',
    'headers',
    'disabled',
    'enabled',
    'timeoutSeconds',
  ],
  ...['disabledTools', 'disabled_tools', 'excludeTools', 'enabledTools', 'enabled_tools', 'includeTools'],
  ...kept,
]);
/** About the client and its user, and nothing to us. */
const irrelevant = new Set([
  ...[
    'alwaysAllow',
    'autoApprove',
    'trust',
    'icon',
    'iconPath',
    'gallery',
    'version',
    'dev',
    'required',
    'bundled',
    'title',
  ],
  ...[
    'startup_timeout_sec',
    'initTimeout',
    'chatMenu',
    'source',
    'id',
    'display_name',
    'ref',
    'tools',
    'available_tools',
  ],
]);

interface DraftContext extends ImportOptions {
  declared: DeclaredInputs;
}

interface ImportedEntry {
  /** A registration but for its name; whatever is wrong with it is left for the schema to say. */
  fields: ConfigEntry;
  /** Two entries with the same one are the same server. */
  identity: string;
  warnings: string[];
  inputs: ImportInput[];
  /** A variable that only the editor has a value for. */
  editorOnly?: string;
}

function toDraft(entry: unknown, context: DraftContext): ImportedEntry {
  const warnings: string[] = [];
  const inputs: ImportInput[] = [];
  if (!isObject(entry)) return { fields: {}, identity: toText(entry), warnings, inputs };
  const fields: ConfigEntry = Object.fromEntries(
    kept.flatMap((field) => (field in entry ? [[field, entry[field]]] : [])),
  );
  if (entry.disabled === true || entry.enabled === false) {
    fields.auto_connect = false;
    warnings.push('disabled in the file: registered without connecting');
  }
  const ignored = Object.keys(entry).filter((field) => !understood.has(field) && !irrelevant.has(field));
  if (ignored.length > 0) warnings.push(`ignored: ${ignored.join(', ')}`);
  const overrides = toolOverridesOf(entry);
  if (overrides !== undefined)
    fields.tool_overrides = { ...overrides, ...(isObject(fields.tool_overrides) ? fields.tool_overrides : {}) };
  if (typeof entry.timeoutSeconds === 'number') {
    fields.options = { request_timeout: entry.timeoutSeconds, ...(isObject(fields.options) ? fields.options : {}) };
  }
  const connection = isObject(entry.connection_config)
    ? { transport_type: entry.transport_type, connection_config: entry.connection_config }
    : connectionOf(entry, context, warnings, inputs);
  const whole = { ...fields, ...connection };
  const editorOnly = /\$\{(?:workspaceFolder|config:)[^}]{0,100}\}/;
  const found = isObject(entry.connection_config) ? undefined : editorOnly.exec(toText(connection))?.[0];
  return { fields: whole, identity: identityOf(whole, context.project), warnings, inputs, editorOnly: found };
}

function connectionOf(
  entry: ConfigEntry,
  context: DraftContext,
  warnings: string[],
  inputs: ImportInput[],
): ConfigEntry {
  const transport = transportOf(entry, warnings);
  const variables = (value: unknown) => mapStrings(value, (text) => translate(text, context, warnings, inputs));
  if (transport === 'STDIO') {
    const { command, args, env } = entry;
    const config = {
      command: variables(command),
      args: variables(args),
      env: variables(toStrings(env)),
      env_file: inFolder(variables(entry.env_file ?? entry.envFile), context.project),
      cwd: inFolder(variables(entry.cwd), context.project) ?? context.project,
    };
    return { transport_type: transport, connection_config: present(config) };
  }
  const address = variables(entry.url ?? entry.serverUrl ?? entry.httpUrl);
  const headers = variables(toStrings(entry.headers));
  const config = transport === 'HTTP' ? { base_url: address, headers } : { url: address, headers };
  return { transport_type: transport, connection_config: present(config) };
}

function inFolder(path: unknown, folder: string | undefined): unknown {
  return typeof path === 'string' && folder !== undefined && !isAbsolute(path) && !path.startsWith('${')
    ? join(folder, path)
    : path;
}

/** The directory makes another server only of one that refers to it. */
function identityOf(fields: ConfigEntry, project: string | undefined): string {
  const { cwd, ...config } = isObject(fields.connection_config) ? fields.connection_config : {};
  const isRelative = (arg: unknown) =>
    typeof arg === 'string' && /^\.{1,2}([\\/]|$)|^[^@-][^:]*[\\/]/.test(arg) && !isAbsolute(arg);
  const args = Array.isArray(config.args) ? config.args : [];
  const matters = cwd !== project || args.some(isRelative);
  return toText({ ...fields, connection_config: matters ? { ...config, cwd } : config });
}

/** A list of the tools that are switched off, or of those that alone are on. */
function toolOverridesOf(entry: ConfigEntry): Record<string, { enabled: boolean }> | undefined {
  const names = (...fields: string[]) =>
    fields
      .flatMap((field) => (Array.isArray(entry[field]) ? entry[field] : []))
      .filter((name) => typeof name === 'string');
  const off = names('disabledTools', 'disabled_tools', 'excludeTools');
  const on = names('enabledTools', 'enabled_tools', 'includeTools');
  if (off.length + on.length === 0) return undefined;
  const only =
    on.length === 0 || on.includes('*')
      ? []
      : [['*', { enabled: false }], ...on.map((name) => [name, { enabled: true }])];
  return Object.fromEntries([...only, ...off.map((name) => [name, { enabled: false }])]);
}

const spellings = new Map<string, 'STDIO' | 'SSE' | 'HTTP'>([
  ['stdio', 'STDIO'],
  ['local', 'STDIO'],
  ['sse', 'SSE'],
  ['http', 'HTTP'],
  ['streamable-http', 'HTTP'],
  ['streamablehttp', 'HTTP'],
  ['streamable_http', 'HTTP'],
  ['remote', 'HTTP'],
]);

function transportOf(entry: ConfigEntry, warnings: string[]): unknown {
  const named = entry.type ?? entry.transport ?? entry.transportType ?? entry.transport_type;
  if (typeof named === 'string') return spellings.get(named.toLowerCase()) ?? named;
  if (named !== undefined) return named;
  if (entry.command !== undefined || !('url' in entry || 'serverUrl' in entry || 'httpUrl' in entry)) return 'STDIO';
  const address = entry.url ?? entry.serverUrl;
  if (typeof address !== 'string' || !/\/sse\/?(\?|$)/.test(address)) return 'HTTP';
  warnings.push('treated as an SSE server because its URL ends in /sse');
  return 'SSE';
}

/** Clients write `${env:NAME}`, `${input:id}`, `${userHome}`, `${workspaceFolder}`; we know `${NAME}`. */
function translate(text: string, context: DraftContext, warnings: string[], inputs: ImportInput[]): string {
  const { project, home, environment = {}, answers, declared } = context;
  return replaceBraced(text, (content) => {
    const [, name] = /^(?:env:)?([A-Za-z_]\w*)$/.exec(content) ?? [];
    if (content === 'userHome') return home ?? '${HOME}';
    if (content === 'pathSeparator' || content === '/') return sep;
    if (content.startsWith('input:') && content.length > 6) return answerTo(content.slice(6));
    if (content.startsWith('workspaceFolder')) return folderFor(content);
    if (name === undefined) return undefined;
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (value === undefined) return `\${${name}}`;
    warn(warnings, `\${${name}} was taken from your environment`);
    return value;
  });

  function answerTo(id: string): string {
    const input = declared.get(id);
    const value = answers?.get(id) ?? input?.default;
    if (value !== undefined) return value;
    const name = toVariableName(id);
    warn(warnings, `\${input:${id}} became \${${name}}: set ${name} in the aggregator's environment`);
    if (!inputs.some((one) => one.id === id)) {
      inputs.push({ id, description: input?.description ?? id, isSecret: input?.isSecret ?? true });
    }
    return `\${${name}}`;
  }

  function folderFor(content: string): string | undefined {
    if (project === undefined) return undefined;
    return content.startsWith('workspaceFolderBasename') ? (project.split(/[\\/]/).at(-1) ?? project) : project;
  }
}

const toVariableName = (id: string) =>
  id
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^(?=\d)/, '_')
    .toUpperCase();

function warn(warnings: string[], text: string): void {
  if (!warnings.includes(text)) warnings.push(text);
}

/** More of a key does not fit into a name. */
const maxKeyLength = 1_000;

/** BR-001: a lowercase letter first, then a-z, 0-9, "-" and "_". Registries name servers as paths: their end is the name. */
export function toLegalName(key: string): string {
  const plain = (key.slice(0, maxKeyLength).split('/').filter(Boolean).at(-1) ?? '')
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{Mark}/gu, '')
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .replace(/-+$/, '')
    .slice(0, 255);
  return plain === '' ? 'server' : plain;
}

interface Named {
  content: string;
  places: ImportPlace[];
}

/** Names for entries: those of the same content share one, others of the same name get numbers. */
function createNames() {
  const taken = new Map<string, Named>();
  /** By name without a number: what was tried, and the number to try next. */
  const tried = new Map<string, { next: number; byContent: Map<string, Named> }>();
  return {
    /** The name, with a number where another server has it; or the very same server that has it. */
    find(name: string, content: string): string | Named {
      const { next, byContent } = tried.get(name) ?? { next: 1, byContent: new Map<string, Named>() };
      let number = next;
      let other = byContent.get(content) ?? taken.get(numbered(name, number));
      while (other !== undefined && other.content !== content) {
        byContent.set(other.content, other);
        number += 1;
        other = taken.get(numbered(name, number));
      }
      tried.set(name, { next: number, byContent });
      return other ?? numbered(name, number);
    },
    take: (name: string, named: Named) => void taken.set(name, named),
  };
}

/** The name, with a number where it is taken. */
export function freeName(name: string, isTaken: (name: string) => boolean): string {
  let number = 1;
  while (isTaken(numbered(name, number))) number += 1;
  return numbered(name, number);
}

const numbered = (name: string, number: number) => (number === 1 ? name : `${name.slice(0, 250)}-${number}`);

function pointsAtUs(entry: unknown, self: string | undefined): boolean {
  if (!isObject(entry)) return false;
  const words = [entry.command, ...(Array.isArray(entry.args) ? entry.args : [])];
  if (words.some((word) => typeof word === 'string' && /(^|[\\/])mcp-aggregator(\.js|\.cmd|@[^\\/]+)?$/.test(word))) {
    return true;
  }
  const address = entry.url ?? entry.serverUrl ?? entry.httpUrl;
  if (hasOurToken(entry, address)) return true;
  if (self === undefined || typeof address !== 'string' || !URL.canParse(address)) return false;
  const place = (url: string) => new URL(url).host.replace(/^localhost\b/, '127.0.0.1');
  return place(address) === place(self);
}

/** An aggregator on this host that had another port then. One on another host is a server like others. */
function hasOurToken({ headers, http_headers }: ConfigEntry, address: unknown): boolean {
  if (typeof address !== 'string' || !URL.canParse(address) || !isLoopback(new URL(address).hostname)) return false;
  return /"Bearer mcpa_[0-9a-f]{1,64}_/.test(toText([headers, http_headers]));
}

/** JSON has numbers and booleans, an environment has only text. */
function toStrings(values: unknown): unknown {
  if (!isObject(values)) return values;
  const text = (value: unknown) => (['number', 'boolean', 'bigint'].includes(typeof value) ? String(value) : value);
  const set = Object.entries(values).filter(([, value]) => value !== null);
  return set.length === 0 ? undefined : Object.fromEntries(set.map(([key, value]) => [key, text(value)]));
}

function present(values: ConfigEntry): ConfigEntry {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== null));
}
