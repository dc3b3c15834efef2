/** The MCP clients that `connect-client` supports: location of the config file and format of an entry. */
import { join } from 'node:path';
import { readDocument, removeMember, setMember } from './json-edit.ts';
import { readServerTables, removeServerTable, setServerTable } from './toml-edit.ts';

interface Surroundings {
  home: string;
  platform: NodeJS.Platform;
  environment: Readonly<Record<string, string | undefined>>;
}

/** How a client reaches us. */
export interface Way {
  /** The MCP endpoint. */
  url: string;
  token: string;
  /** The stdio command, for clients that only start programs. */
  program: { command: string; args: string[] };
}

export type ClientEntry = Record<string, unknown>;

export interface McpClient {
  id: string;
  title: string;
  file(surroundings: Surroundings): string;
  entry(way: Way): ClientEntry;
  read(text: string): Record<string, ClientEntry>;
  set(text: string, name: string, entry: ClientEntry): string;
  remove(text: string, name: string): string;
}

const authorization = (token: string) => ({ Authorization: `Bearer ${token}` });

/** Directory of application settings per platform. */
function settings({ home, platform, environment }: Surroundings): string {
  if (platform === 'win32') return environment.APPDATA ?? join(home, 'AppData', 'Roaming');
  if (platform === 'darwin') return join(home, 'Library', 'Application Support');
  return environment.XDG_CONFIG_HOME ?? join(home, '.config');
}

function jsonClient(key: string): Pick<McpClient, 'read' | 'set' | 'remove'> {
  return {
    read(text) {
      const list = readDocument(text)[key];
      const entries = Object.entries(isObject(list) ? list : {});
      return Object.fromEntries(entries.filter((pair): pair is [string, ClientEntry] => isObject(pair[1])));
    },
    set: (text, name, entry) => setMember(text, [key, name], entry),
    remove: (text, name) => removeMember(text, [key, name]),
  };
}

function isObject(value: unknown): value is ClientEntry {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const clients: readonly McpClient[] = [
  {
    id: 'claude-desktop',
    title: 'Claude Desktop',
    file: (at) => join(settings(at), 'Claude', 'claude_desktop_config.json'),
    // Its config file supports only programs.
    entry: ({ program, token }) => ({ ...program, env: { MCP_AGGREGATOR_TOKEN: token } }),
    ...jsonClient('mcpServers'),
  },
  {
    id: 'claude-code',
    title: 'Claude Code',
    file: ({ home, environment }) => join(environment.CLAUDE_CONFIG_DIR ?? home, '.claude.json'),
    entry: ({ url, token }) => ({ type: 'http', url, headers: authorization(token) }),
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
    ...jsonClient('servers'),
  },
  {
    id: 'codex',
    title: 'Codex',
    file: ({ home, environment }) => join(environment.CODEX_HOME ?? join(home, '.codex'), 'config.toml'),
    entry: ({ url, token }) => ({ url, http_headers: authorization(token) }),
    read: readServerTables,
    set: setServerTable,
    remove: removeServerTable,
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
    ...jsonClient('context_servers'),
  },
];

const zedFile = (at: Surroundings) => join(settings(at), at.platform === 'win32' ? 'Zed' : 'zed', 'settings.json');
