/** Server lists of MCP clients, in every spelling that is out there, turned into registrations. Pure. */
import { posix, win32 } from 'node:path';
import { type Registration, registration } from './server.ts';

export interface ImportedServer {
  /** The name in the file, before it was made legal. */
  key: string;
  registration: Registration;
  /** What was changed or left out on the way. */
  warnings: string[];
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

interface ImportOptions {
  /** Our own address: an entry that points at us would have us call ourselves. */
  self?: string;
}

type ConfigEntry = Record<string, unknown>;

export function fromClientConfig(json: unknown, { self }: ImportOptions = {}): ImportedConfig {
  const found = findEntries(json);
  if (found === undefined) {
    return { servers: [], problems: [{ key: '', reason: 'contains no "mcpServers" or "servers"' }] };
  }
  const servers: ImportedServer[] = [];
  const problems: ImportProblem[] = [];
  const taken = new Map<string, string>();

  for (const { key, entry } of found) {
    if (pointsAtUs(entry, self)) {
      problems.push({ key, reason: 'is mcp-aggregator itself', skipped: true });
      continue;
    }
    const warnings: string[] = [];
    const draft = toDraft(entry, warnings);
    const same = JSON.stringify(draft);
    const name = uniqueName(toLegalName(key), same, taken);
    // Claude Code repeats a server in every project that uses it.
    if (name === undefined) continue;
    if (name !== key) warnings.unshift(`"${key}" became "${name}"`);
    const parsed = registration.safeParse({ name, ...draft });
    if (parsed.success) {
      taken.set(name, same);
      servers.push({ key, registration: parsed.data, warnings });
    } else {
      const reasons = parsed.error.issues.map(({ path, message }) =>
        path.length === 0 || message.includes(String(path.at(-1))) ? message : `${path.join('.')}: ${message}`,
      );
      problems.push({ key, reason: reasons.join('; ') });
    }
  }
  return { servers, problems };
}

/** Where each client keeps its servers; undefined where nothing looks like a list of servers. */
function findEntries(json: unknown): { key: string; entry: unknown }[] | undefined {
  if (!isObject(json)) return undefined;
  const settings = isObject(json.mcp) ? json.mcp : {};
  const projects = isObject(json.projects) ? Object.values(json.projects).filter(isObject) : [];
  const lists = [json.mcpServers, json.servers, settings.servers, json['mcp.servers'], settings.mcpServers].concat(
    projects.map((project) => project.mcpServers),
  );
  const known = lists.filter((list) => isObject(list) || Array.isArray(list));
  if (known.length > 0) return known.flatMap(entriesOf);
  const looksLikeServer = (value: unknown) =>
    isObject(value) && ['command', 'url', 'serverUrl', 'connection_config'].some((field) => field in value);
  const entries = Object.values(json);
  if (entries.length > 0 && !entries.some(looksLikeServer)) return undefined;
  return entriesOf(json);
}

function entriesOf(list: unknown): { key: string; entry: unknown }[] {
  if (Array.isArray(list)) {
    return list.map((entry: unknown, position) => ({
      key: isObject(entry) && typeof entry.name === 'string' ? entry.name : `#${position + 1}`,
      entry,
    }));
  }
  return Object.entries(isObject(list) ? list : {}).map(([key, entry]) => ({ key, entry }));
}

const kept = ['description', 'health_check_url', 'auto_connect', 'options'] as const;
const understood = new Set<string>([
  ...['name', 'type', 'transport', 'transportType', 'transport_type', 'connection_config'],
  ...['command', 'args', 'env', 'cwd', 'url', 'serverUrl', 'httpUrl', 'headers', 'disabled', 'enabled'],
  ...kept,
]);

/** A registration but for its name; whatever is wrong with it is left for the schema to say. */
function toDraft(entry: unknown, warnings: string[]): ConfigEntry {
  if (!isObject(entry)) return {};
  const draft: ConfigEntry = Object.fromEntries(
    kept.flatMap((field) => (field in entry ? [[field, entry[field]]] : [])),
  );
  if (entry.disabled === true || entry.enabled === false) {
    draft.auto_connect = false;
    warnings.push('disabled in the file: registered without connecting');
  }
  const ignored = Object.keys(entry).filter((field) => !understood.has(field));
  if (ignored.length > 0) warnings.push(`ignored: ${ignored.join(', ')}`);

  if (isObject(entry.connection_config)) {
    return { ...draft, transport_type: entry.transport_type, connection_config: entry.connection_config };
  }
  const transport = transportOf(entry, warnings);
  const variables = (value: unknown) => translateVariables(value, warnings);
  if (transport === 'STDIO') {
    const { command, args, env, cwd } = entry;
    const config = {
      command: variables(command),
      args: variables(args),
      env: variables(toStrings(env)),
      cwd: variables(cwd),
    };
    return { ...draft, transport_type: transport, connection_config: present(config) };
  }
  const address = variables(entry.url ?? entry.serverUrl ?? entry.httpUrl);
  const headers = variables(toStrings(entry.headers));
  const config = transport === 'HTTP' ? { base_url: address, headers } : { url: address, headers };
  return { ...draft, transport_type: transport, connection_config: present(config) };
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

/** VS Code and Cursor write `${env:NAME}`, `${input:id}`, `${userHome}`; we know `${NAME}`. */
function translateVariables(value: unknown, warnings: string[]): unknown {
  if (Array.isArray(value)) return value.map((part) => translateVariables(part, warnings));
  if (isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, translateVariables(part, warnings)]));
  }
  if (typeof value !== 'string') return value;
  return value
    .replace(/\$\{env:([^}]+)\}/g, (_whole, name: string) => `\${${name}}`)
    .replace(/\$\{input:([^}]+)\}/g, (whole, id: string) => {
      const name = id
        .replace(/[^A-Za-z0-9]+/g, '_')
        .replace(/^(?=\d)/, '_')
        .toUpperCase();
      warn(warnings, `${whole} became \${${name}}: set ${name} in the aggregator's environment`);
      return `\${${name}}`;
    })
    .replaceAll('${userHome}', '${HOME}')
    .replace(/\$\{workspaceFolder[^}]*\}/g, (whole) => {
      warn(warnings, `${whole} is only known to the editor: replace it with a path`);
      return whole;
    });
}

function warn(warnings: string[], text: string): void {
  if (!warnings.includes(text)) warnings.push(text);
}

/** BR-001: a lowercase letter first, then a-z, 0-9, "-" and "_". */
export function toLegalName(key: string): string {
  const plain = key
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{Mark}/gu, '')
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .replace(/-+$/, '')
    .slice(0, 255);
  return plain === '' ? 'server' : plain;
}

/** The name, with a number where another server has it; undefined where the very same server has it. */
function uniqueName(name: string, content: string, taken: ReadonlyMap<string, string>): string | undefined {
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${name.slice(0, 250)}-${number}`;
    const other = taken.get(candidate);
    if (other === undefined) return candidate;
    if (other === content) return undefined;
  }
}

function pointsAtUs(entry: unknown, self: string | undefined): boolean {
  if (!isObject(entry)) return false;
  const words = [entry.command, ...(Array.isArray(entry.args) ? entry.args : [])];
  if (words.some((word) => typeof word === 'string' && /(^|[\\/])mcp-aggregator(\.js|\.cmd|@[^\\/]+)?$/.test(word))) {
    return true;
  }
  const address = entry.url ?? entry.serverUrl;
  if (self === undefined || typeof address !== 'string' || !URL.canParse(address)) return false;
  const place = (url: string) => new URL(url).host.replace(/^localhost\b/, '127.0.0.1');
  return place(address) === place(self);
}

/** JSON has numbers and booleans, an environment has only text. */
function toStrings(values: unknown): unknown {
  if (!isObject(values)) return values;
  const text = (value: unknown) => (typeof value === 'number' || typeof value === 'boolean' ? String(value) : value);
  const set = Object.entries(values).filter(([, value]) => value !== null);
  return set.length === 0 ? undefined : Object.fromEntries(set.map(([key, value]) => [key, text(value)]));
}

function present(values: ConfigEntry): ConfigEntry {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== null));
}

function isObject(value: unknown): value is ConfigEntry {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export interface ClientConfigFile {
  client: string;
  path: string;
}

/** Every file in which a known client keeps servers on this platform, whether it exists or not. */
export function findClientConfigs(
  home: string,
  platform: NodeJS.Platform,
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): ClientConfigFile[] {
  const { join } = platform === 'win32' ? win32 : posix;
  const settings = {
    win32: env.APPDATA ?? join(home, 'AppData', 'Roaming'),
    darwin: join(home, 'Library', 'Application Support'),
    other: env.XDG_CONFIG_HOME ?? join(home, '.config'),
  };
  const base = platform === 'win32' || platform === 'darwin' ? settings[platform] : settings.other;
  const vsCode = ['Code', 'Code - Insiders'].flatMap((edition) =>
    ['mcp.json', 'settings.json'].map((file) => ({ client: 'VS Code', path: join(base, edition, 'User', file) })),
  );
  return [
    { client: 'Claude Desktop', path: join(base, 'Claude', 'claude_desktop_config.json') },
    {
      client: 'Claude Code',
      path: env.CLAUDE_CONFIG_DIR ? join(env.CLAUDE_CONFIG_DIR, '.claude.json') : join(home, '.claude.json'),
    },
    { client: 'Claude Code', path: join(cwd, '.mcp.json') },
    { client: 'Cursor', path: join(home, '.cursor', 'mcp.json') },
    { client: 'Cursor', path: join(cwd, '.cursor', 'mcp.json') },
    ...vsCode,
    { client: 'VS Code', path: join(cwd, '.vscode', 'mcp.json') },
    { client: 'Windsurf', path: join(home, '.codeium', 'windsurf', 'mcp_config.json') },
  ];
}

/** JSON with the comments and trailing commas that VS Code and people write. */
export function parseClientConfig(text: string): unknown {
  // Scanned by hand: a pattern for strings runs out of stack on the megabytes that some clients keep in such files.
  const parts: string[] = [];
  let comma: number | undefined;
  for (let at = text.startsWith('\uFEFF') ? 1 : 0; at < text.length; ) {
    const end = tokenEnd(text, at);
    const token = text.slice(at, end);
    at = end;
    if (token.startsWith('//') || token.startsWith('/*')) continue;
    if ((token === '}' || token === ']') && comma !== undefined) parts[comma] = '';
    if (token === ',') comma = parts.length;
    else if (token.trim() !== '') comma = undefined;
    parts.push(token);
  }
  return JSON.parse(parts.join(''));
}

/** Where the string, the comment or the single character that begins here ends. */
function tokenEnd(text: string, start: number): number {
  const until = (mark: string, from: number) => {
    const found = text.indexOf(mark, from);
    return found === -1 ? text.length : found + mark.length;
  };
  if (text.startsWith('//', start)) return until('\n', start);
  if (text.startsWith('/*', start)) return until('*/', start + 2);
  if (text[start] !== '"') return start + 1;
  let end = until('"', start + 1);
  while (end < text.length && isEscaped(text, end - 1)) end = until('"', end);
  return end;
}

function isEscaped(text: string, position: number): boolean {
  let backslashes = 0;
  while (text[position - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}
