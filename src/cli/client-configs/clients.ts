/** The MCP clients that `connect-client` supports: location of the config file and format of an entry. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { claudeDesktopFolders, type Dialect } from '../../registry/client-files.ts';
import type { ImportPlace } from '../../registry/import.ts';
import { maskMembers, readDocument, removeMember, setMember } from './json-edit.ts';
import { maskTables, readServerTables, removeServerTable, setServerTable } from './toml-edit.ts';

interface ClientHostPaths {
  home: string;
  platform: NodeJS.Platform;
  environment: Readonly<Record<string, string | undefined>>;
}

/** How a client reaches us. */
export interface Way {
  /** The MCP endpoint. */
  url: string;
  token: string;
  /** Without a token: the client starts our program, which uses the sign-in of its user. */
  usesSignIn?: boolean;
  /** The stdio command, for clients that only start programs. */
  program: { command: string; args: string[] };
}

export type ClientEntry = Record<string, unknown>;

export interface McpClient {
  id: string;
  title: string;
  /** How it writes servers down, if not as Claude Desktop does. */
  dialect?: Dialect;
  file(surroundings: ClientHostPaths): string;
  entry(way: Way): ClientEntry;
  /** The servers of all projects. */
  read(text: string): Record<string, ClientEntry>;
  /** And those of single projects. */
  readAll(text: string): { place: ImportPlace; entry: ClientEntry }[];
  set(text: string, place: ImportPlace, entry: ClientEntry): string;
  remove(text: string, place: ImportPlace): string;
  /** For people: without the values of anything but this entry. */
  mask(text: string, name: string): string;
}

const authorization = (token: string) => ({ Authorization: `Bearer ${token}` });

/** Directory of application settings per platform. */
function settings({ home, platform, environment }: ClientHostPaths): string {
  if (platform === 'win32') return environment.APPDATA ?? join(home, 'AppData', 'Roaming');
  if (platform === 'darwin') return join(home, 'Library', 'Application Support');
  return environment.XDG_CONFIG_HOME ?? join(home, '.config');
}

function jsonClient(list: string): Pick<McpClient, 'read' | 'readAll' | 'set' | 'remove' | 'mask'> {
  const pathOf = ({ key, project }: ImportPlace) =>
    project === undefined ? [list, key] : ['projects', project, list, key];
  const read = (text: string) => entriesIn(readDocument(text)[list]);
  return {
    read,
    readAll(text) {
      const { projects } = readDocument(text);
      const ofProjects = Object.entries(isObject(projects) ? projects : {}).flatMap(([project, one]) =>
        toPlaces(entriesIn(isObject(one) ? one[list] : {}), project),
      );
      return [...toPlaces(read(text)), ...ofProjects];
    },
    set: (text, place, entry) => setMember(text, pathOf(place), entry),
    remove: (text, place) => removeMember(text, pathOf(place)),
    mask: (text, name) => maskMembers(text, [list, name]),
  };
}

function entriesIn(list: unknown): Record<string, ClientEntry> {
  const entries = Object.entries(isObject(list) ? list : {});
  return Object.fromEntries(entries.filter((pair): pair is [string, ClientEntry] => isObject(pair[1])));
}

const toPlaces = (entries: Record<string, ClientEntry>, project?: string) =>
  Object.entries(entries).map(([key, entry]) => ({
    place: { key, ...(project === undefined ? {} : { project }) },
    entry,
  }));

function isObject(value: unknown): value is ClientEntry {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** In the file of this client. */
export function entryOf({ id, entry }: McpClient, way: Way): ClientEntry {
  if (way.usesSignIn !== true) return entry(way);
  return { ...(id === 'vscode' || id === 'claude-code' ? { type: 'stdio' } : {}), ...way.program };
}

export const clients: readonly McpClient[] = [
  {
    id: 'claude-desktop',
    title: 'Claude Desktop',
    file: claudeDesktopFile,
    // Its config file supports only programs.
    entry: ({ program, token }) => ({ ...program, env: { MCP_AGGREGATOR_TOKEN: token } }),
    ...jsonClient('mcpServers'),
  },
  {
    id: 'claude-code',
    title: 'Claude Code',
    file: ({ home, environment }) => join(environment.CLAUDE_CONFIG_DIR ?? home, '.claude.json'),
    // Its own tool search would hide ours.
    entry: ({ url, token }) => ({ type: 'http', url, headers: authorization(token), alwaysLoad: true }),
    ...jsonClient('mcpServers'),
  },
  {
    id: 'cursor',
    title: 'Cursor',
    file: ({ home }) => join(home, '.cursor', 'mcp.json'),
    entry: ({ url, token }) => ({ url, headers: authorization(token) }),
    ...jsonClient('mcpServers'),
  },
  {
    id: 'vscode',
    title: 'VS Code',
    file: (at) => join(settings(at), 'Code', 'User', 'mcp.json'),
    entry: ({ url, token }) => ({ type: 'http', url, headers: authorization(token) }),
    dialect: 'vscode',
    ...jsonClient('servers'),
  },
  {
    id: 'codex',
    title: 'Codex',
    file: ({ home, environment }) => join(environment.CODEX_HOME ?? join(home, '.codex'), 'config.toml'),
    entry: ({ url, token }) => ({ url, http_headers: authorization(token) }),
    read: readServerTables,
    readAll: (text) => toPlaces(readServerTables(text)),
    set: (text, { key }, entry) => setServerTable(text, key, entry),
    remove: (text, { key }) => removeServerTable(text, key),
    mask: maskTables,
    dialect: 'codex',
  },
  {
    id: 'windsurf',
    title: 'Windsurf',
    file: ({ home }) => join(home, '.codeium', 'windsurf', 'mcp_config.json'),
    entry: ({ url, token }) => ({ serverUrl: url, headers: authorization(token) }),
    ...jsonClient('mcpServers'),
  },
  {
    id: 'zed',
    title: 'Zed',
    file: (at) => (at.platform === 'darwin' ? join(at.home, '.config', 'zed', 'settings.json') : zedFile(at)),
    entry: ({ url, token }) => ({ url, headers: authorization(token) }),
    dialect: 'zed',
    ...jsonClient('context_servers'),
  },
  {
    id: 'gemini-cli',
    title: 'Gemini CLI',
    file: ({ home }) => join(home, '.gemini', 'settings.json'),
    entry: ({ url, token }) => ({ httpUrl: url, headers: authorization(token) }),
    dialect: 'gemini',
    ...jsonClient('mcpServers'),
  },
  {
    id: 'cline',
    title: 'Cline',
    file: (at) => join(settings(at), 'Code', 'User', ...clineFile),
    entry: ({ url, token }) => ({ type: 'streamableHttp', url, headers: authorization(token) }),
    dialect: 'cline',
    ...jsonClient('mcpServers'),
  },
];

const clineFile = ['globalStorage', 'saoudrizwan.claude-dev', 'settings', 'cline_mcp_settings.json'];

/** The version from the Microsoft Store reads another file: the one that is there is the one that is used. */
function claudeDesktopFile(at: ClientHostPaths): string {
  const { home, platform, environment: env } = at;
  const files = claudeDesktopFolders({ home, platform, env }, settings(at)).map((folder) =>
    join(folder, 'claude_desktop_config.json'),
  );
  return (
    files.findLast((file) => existsSync(file)) ??
    files.findLast((file) => existsSync(join(file, '..'))) ??
    files[0] ??
    ''
  );
}

const zedFile = (at: ClientHostPaths) => join(settings(at), at.platform === 'win32' ? 'Zed' : 'zed', 'settings.json');
