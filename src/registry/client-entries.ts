/** The servers in the file of a client, each in the form that Claude Desktop writes. Pure. */
import type { Dialect } from './client-files.ts';

export type ConfigEntry = Record<string, unknown>;

export interface FoundEntry {
  key: string;
  entry: unknown;
  /** The directory of the project that it belongs to. */
  project?: string;
  /** It is no server of its own: the reason. */
  skipped?: string;
}

/** Undefined where nothing looks like a list of servers. */
export function findEntries(json: unknown, dialect: Dialect | undefined, project?: string): FoundEntry[] | undefined {
  if (!isObject(json)) return undefined;
  const normalise = dialect === undefined ? undefined : dialects[dialect];
  const found = listsIn(json, project) ?? bareList(json, project);
  const { excluded } = objectOf(json.mcp);
  return found?.map((one) => {
    if (!isObject(one.entry)) return one;
    const { skipped, ...entry } = (isDockerEntry(one.entry) ? fromDocker : normalise)?.(one.entry) ?? one.entry;
    // Gemini CLI lists the disabled servers apart.
    if (Array.isArray(excluded) && excluded.includes(one.key)) entry.disabled = true;
    return { ...one, entry, ...(typeof skipped === 'string' ? { skipped } : {}) };
  });
}

/** Where each client keeps its servers. */
function listsIn(json: ConfigEntry, project: string | undefined): FoundEntry[] | undefined {
  const settings = isObject(json.mcp) ? json.mcp : {};
  const lists = [
    ...[json.mcpServers, json.servers, settings.servers, json['mcp.servers'], settings.mcpServers],
    ...[json.mcp_servers, json.context_servers, json.extensions, json.registry],
  ].map((list) => ({ list, project }));
  const projects = isObject(json.projects) ? Object.entries(json.projects) : [];
  const ofProjects = projects.flatMap(([path, one]) =>
    isObject(one) ? [{ list: one.mcpServers, project: path }] : [],
  );
  const known = [...lists, ...ofProjects].filter(({ list }) => isObject(list) || Array.isArray(list));
  return known.length === 0 ? undefined : known.flatMap(({ list, project: of }) => entriesOf(list, of));
}

function bareList(json: ConfigEntry, project: string | undefined): FoundEntry[] | undefined {
  const looksLikeServer = (value: unknown) =>
    isObject(value) && ['command', 'url', 'serverUrl', 'connection_config'].some((field) => field in value);
  const entries = Object.values(json);
  return entries.length > 0 && !entries.some(looksLikeServer) ? undefined : entriesOf(json, project);
}

function entriesOf(list: unknown, project: string | undefined): FoundEntry[] {
  const of = project === undefined ? {} : { project };
  if (Array.isArray(list)) {
    return list.map((entry: unknown, position) => ({
      key: isObject(entry) && typeof entry.name === 'string' ? entry.name : `#${position + 1}`,
      entry,
      ...of,
    }));
  }
  return Object.entries(isObject(list) ? list : {}).map(([key, entry]) => ({ key, entry, ...of }));
}

type Normalise = (entry: ConfigEntry) => ConfigEntry;

const dialects: Partial<Record<Dialect, Normalise>> = {
  codex({
    bearer_token_env_var: token,
    http_headers,
    env_http_headers,
    env_vars,
    tool_timeout_sec: seconds,
    ...entry
  }) {
    const headers = {
      ...objectOf(http_headers),
      ...mapValues(objectOf(env_http_headers), toReference),
      ...(typeof token === 'string' ? { Authorization: `Bearer ${toReference(token)}` } : {}),
    };
    return {
      ...entry,
      ...withMembers('headers', headers),
      ...withEnv(entry.env, env_vars),
      ...withTimeout(seconds, 1),
    };
  },
  zed({ source, settings, ...entry }) {
    if (entry.command === undefined && entry.url === undefined) return { skipped: 'is an extension of Zed' };
    const { path, args, env } = objectOf(entry.command);
    return path === undefined ? entry : { ...entry, command: path, args: args ?? entry.args, env: env ?? entry.env };
  },
  gemini: ({ timeout, ...entry }) => ({
    ...(mapStrings(entry, fromShellVariables) as ConfigEntry),
    ...withTimeout(timeout, 1_000),
  }),
  librechat({ timeout, ...entry }) {
    const ofUser = placeholderIn(toText(entry));
    return ofUser === undefined
      ? { ...entry, ...withTimeout(timeout, 1_000) }
      : { skipped: `has ${ofUser}, which LibreChat fills in for each of its users` };
  },
  vscode({ requestInit, ...entry }) {
    return { ...withMembers('headers', objectOf(requestInit).headers), ...entry };
  },
  cline: ({ timeout, ...entry }) => ({ ...entry, ...withTimeout(timeout, 1) }),
  goose({ type, cmd, envs, env_keys, uri, timeout, available_tools: tools, ...entry }) {
    if (typeof type === 'string' && !/^(stdio|sse|streamable_http)$/.test(type))
      return { skipped: 'is built into Goose' };
    return {
      ...entry,
      type,
      ...withMembers('command', cmd),
      ...withMembers('url', uri),
      ...(Array.isArray(tools) && tools.length > 0 ? { enabledTools: tools } : {}),
      ...withEnv(envs, env_keys),
      ...withTimeout(timeout, 1),
    };
  },
  continue({ requestOptions, apiKey, ...entry }) {
    const headers = {
      ...(typeof apiKey === 'string' ? { Authorization: `Bearer ${apiKey}` } : {}),
      ...objectOf(objectOf(requestOptions).headers),
    };
    return mapStrings({ ...entry, ...withMembers('headers', headers) }, fromContinueSecrets) as ConfigEntry;
  },
};

const toReference = (name: unknown) => `\${${name}}`;

/** `$NAME`, but not `${NAME}`. */
const fromShellVariables = (text: string) => text.replace(/\$([A-Za-z_]\w*)/g, (_all, name) => toReference(name));

const fromContinueSecrets = (text: string) =>
  text.replace(/\$\{\{\s*(?:secrets\.)?(\w+)\s*\}\}/g, (_all, name) => toReference(name));

/** Variables that the client would pass on from its own environment. */
function withEnv(env: unknown, names: unknown): ConfigEntry {
  const passed = Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  const all = { ...Object.fromEntries(passed.map((name) => [name, toReference(name)])), ...objectOf(env) };
  return withMembers('env', all);
}

function withTimeout(given: unknown, unitsPerSecond: number): ConfigEntry {
  return typeof given === 'number' && given > 0 ? { timeoutSeconds: given / unitsPerSecond } : {};
}

function withMembers(field: string, value: unknown): ConfigEntry {
  const isEmpty = value === undefined || (isObject(value) && Object.keys(value).length === 0);
  return isEmpty ? {} : { [field]: value };
}

function isDockerEntry(entry: ConfigEntry): boolean {
  return typeof entry.image === 'string' || isObject(entry.remote);
}

/** Docker's catalogue: an image that `docker run` starts, or a remote server. */
function fromDocker(entry: ConfigEntry): ConfigEntry {
  const { description, remote, image, command, volumes, secrets, env } = entry;
  const open = placeholderIn(toText([command, volumes, env, remote]));
  if (open !== undefined) return { skipped: `needs a value for ${open}: add it with mcp-aggregator add` };
  const { url, transport_type: type, headers } = objectOf(remote);
  if (url !== undefined)
    return {
      ...withMembers('description', description),
      url,
      ...withMembers('type', type),
      ...withMembers('headers', headers),
    };
  const variables = {
    ...Object.fromEntries(
      listOf(secrets).flatMap(({ env: name }) => (typeof name === 'string' ? [[name, toReference(name)]] : [])),
    ),
    ...Object.fromEntries(
      listOf(env).flatMap(({ name, value }) => (typeof name === 'string' ? [[name, String(value)]] : [])),
    ),
  };
  const args = [
    ...['run', '-i', '--rm'],
    ...Object.keys(variables).flatMap((name) => ['-e', name]),
    ...(Array.isArray(volumes) ? volumes.flatMap((volume) => ['-v', String(volume)]) : []),
    String(image),
    ...(Array.isArray(command) ? command.map(String) : []),
  ];
  return { ...withMembers('description', description), command: 'docker', args, ...withMembers('env', variables) };
}

/** `{{name}}`, which Docker asks its user for. */
function placeholderIn(text: string): string | undefined {
  for (let start = text.indexOf('{{'); start !== -1; ) {
    const end = text.indexOf('}', start);
    if (end === -1) return undefined;
    if (text[end + 1] === '}') return text.slice(start, end + 2);
    start = text.indexOf('{{', end);
  }
  return undefined;
}

const listOf = (value: unknown): ConfigEntry[] => (Array.isArray(value) ? value.filter(isObject) : []);

const objectOf = (value: unknown): ConfigEntry => (isObject(value) ? value : {});

const mapValues = (values: ConfigEntry, map: (value: unknown) => unknown): ConfigEntry =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value)]));

export function mapStrings(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (Array.isArray(value)) return value.map((part) => mapStrings(part, map));
  return isObject(value) ? mapValues(value, (part) => mapStrings(part, map)) : value;
}

/** TOML has integers that JSON has no room for. */
export const toText = (value: unknown): string =>
  JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? `${part}n` : part)) ?? '';

export function isObject(value: unknown): value is ConfigEntry {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
