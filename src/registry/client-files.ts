/** The files in which MCP clients keep their servers, and how they are read. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, posix, win32 } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { parse as parseYaml } from 'yaml';
import { parseCommentedJson } from '../commented-json.ts';

/** What differs in how clients write a server down; the others write what Claude Desktop writes. */
export type Dialect = 'codex' | 'zed' | 'gemini' | 'goose' | 'librechat' | 'continue' | 'cline' | 'docker' | 'vscode';

export interface ClientConfigFile {
  client: string;
  path: string;
  dialect?: Dialect;
  /** The directory that it belongs to, if it is not for all projects. */
  project?: string;
}

interface ClientHost {
  home: string;
  platform: NodeJS.Platform;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** To find keys that stand twice takes the parser a time that grows with the square of their number. */
const yamlOptions = { maxAliasCount: 100, uniqueKeys: false, logLevel: 'error' } as const;
/** Some clients keep the history of conversations in the same file. */
const maxFileBytes = 67_108_864;
/** YAML takes a hundred times as long to read as JSON. */
const maxYamlBytes = 1_048_576;

/** By its extension. Throws what the parser throws. */
export function parseClientConfig(text: string, path = ''): unknown {
  const plain = text.replace(/^\uFEFF/, '');
  if (/\.toml$/i.test(path)) return parseToml(plain, { integersAsBigInt: 'asNeeded' });
  if (/\.ya?ml$/i.test(path)) return parseYaml(plain, yamlOptions);
  return parseCommentedJson(plain);
}

/** The content of a file; of the servers that Docker has enabled, together with what its catalogues say of them. */
export function readClientFile({ path, dialect }: Pick<ClientConfigFile, 'path' | 'dialect'>): unknown {
  const text = readText(path);
  // A client was installed and never configured.
  if (text.trim() === '') return {};
  const json = parseClientConfig(text, path);
  return dialect === 'docker' && /^registry\.ya?ml$/.test(basename(path)) ? withCatalogues(json, dirname(path)) : json;
}

function readText(path: string): string {
  const stats = statSync(path);
  // A pipe would never end.
  if (!stats.isFile()) throw new Error('it is no regular file');
  const max = /\.ya?ml$/i.test(path) ? maxYamlBytes : maxFileBytes;
  if (stats.size > max) throw new Error(`it is larger than ${max / 1_048_576} MB`);
  return readFileSync(path, 'utf8');
}

function withCatalogues(json: unknown, folder: string): unknown {
  const enabled = Object.keys(registryIn(json));
  const catalogues = listFolder(join(folder, 'catalogs'))
    .filter((name) => /\.ya?ml$/.test(name))
    .map((name) => registryIn(parseClientConfig(readText(join(folder, 'catalogs', name)), name)));
  const find = (name: string) => catalogues.find((known) => name in known)?.[name] ?? {};
  return { registry: Object.fromEntries(enabled.map((name) => [name, find(name)])) };
}

function registryIn(json: unknown): Record<string, unknown> {
  const { registry } = (json ?? {}) as { registry?: unknown };
  return typeof registry === 'object' && registry !== null ? (registry as Record<string, unknown>) : {};
}

/** What a file of this name is taken for, if it is given without its client. */
export function dialectOf(path: string): Dialect | undefined {
  return dialectNames.find(([name]) => name.test(path.replaceAll('\\', '/')))?.[1];
}

const dialectNames: [RegExp, Dialect][] = [
  [/\.toml$/i, 'codex'],
  [/\/\.gemini\/settings\.json$/, 'gemini'],
  [/\/goose\/(?:config\/)?config\.ya?ml$/, 'goose'],
  [/librechat[^/]*\.ya?ml$/i, 'librechat'],
  [/\/\.continue\/.*\.(?:ya?ml|json)$/, 'continue'],
  [/\/cline_mcp_settings\.json$/, 'cline'],
  [/\/[Zz]ed\/settings\.json$/, 'zed'],
  [/\/(?:Code(?: - Insiders)?\/User|\.vscode)\/(?:mcp|settings)\.json$/, 'vscode'],
  [/\/github-copilot\/intellij\/mcp\.json$/, 'vscode'],
  [/\/\.docker\/mcp\/.*\.ya?ml$/, 'docker'],
];

/** Every file in which a known client keeps servers on this platform, whether it exists or not. */
export function findClientConfigs({ home, platform, cwd, env }: ClientHost): ClientConfigFile[] {
  // Of the platform that is asked about, which may not be this one.
  const { join } = platform === 'win32' ? win32 : posix;
  const roaming = env.APPDATA ?? join(home, 'AppData', 'Roaming');
  const local = env.LOCALAPPDATA ?? join(home, 'AppData', 'Local');
  const dotConfig = env.XDG_CONFIG_HOME ?? join(home, '.config');
  const settings = { win32: roaming, darwin: join(home, 'Library', 'Application Support') };
  const base = platform === 'win32' || platform === 'darwin' ? settings[platform] : dotConfig;
  const claudeConfigDir = env.CLAUDE_CONFIG_DIR ?? home;
  const editions = ['Code', 'Code - Insiders'].map((edition) => join(base, edition, 'User'));
  const cline = join('globalStorage', 'saoudrizwan.claude-dev', 'settings', 'cline_mcp_settings.json');
  const of = (client: string, path: string, dialect?: Dialect): ClientConfigFile => ({
    client,
    path,
    ...(dialect === undefined ? {} : { dialect }),
  });
  const inProject = (client: string, dialect: Dialect | undefined, ...parts: string[]): ClientConfigFile => ({
    ...of(client, join(cwd, ...parts), dialect),
    project: cwd,
  });
  return [
    ...claudeDesktopFolders({ home, platform, env }, base).map((folder) =>
      of('Claude Desktop', join(folder, 'claude_desktop_config.json')),
    ),
    of('Claude Code', join(claudeConfigDir, '.claude.json')),
    of('Cursor', join(home, '.cursor', 'mcp.json')),
    ...editions.flatMap((user) => [
      of('VS Code', join(user, 'mcp.json'), 'vscode'),
      of('VS Code', join(user, 'settings.json'), 'vscode'),
      of('Cline', join(user, cline), 'cline'),
    ]),
    of('Windsurf', join(home, '.codeium', 'windsurf', 'mcp_config.json')),
    of('Codex', join(env.CODEX_HOME ?? join(home, '.codex'), 'config.toml'), 'codex'),
    of('Zed', zedSettings(join, home, platform, base), 'zed'),
    of('Gemini CLI', join(home, '.gemini', 'settings.json'), 'gemini'),
    of(
      'Goose',
      platform === 'win32'
        ? join(roaming, 'Block', 'goose', 'config', 'config.yaml')
        : join(dotConfig, 'goose', 'config.yaml'),
      'goose',
    ),
    of('Continue', join(home, '.continue', 'config.yaml'), 'continue'),
    ...listFolder(join(home, '.continue', 'mcpServers'))
      .filter((name) => /\.(ya?ml|json)$/i.test(name))
      .map((name) => of('Continue', join(home, '.continue', 'mcpServers', name), 'continue')),
    of('JetBrains Junie', join(home, '.junie', 'mcp', 'mcp.json')),
    of(
      'Copilot for JetBrains',
      join(platform === 'win32' ? local : dotConfig, 'github-copilot', 'intellij', 'mcp.json'),
      'vscode',
    ),
    of('Docker', join(home, '.docker', 'mcp', 'registry.yaml'), 'docker'),
    inProject('Claude Code', undefined, '.mcp.json'),
    inProject('Cursor', undefined, '.cursor', 'mcp.json'),
    inProject('VS Code', 'vscode', '.vscode', 'mcp.json'),
    inProject('Gemini CLI', 'gemini', '.gemini', 'settings.json'),
    inProject('JetBrains Junie', undefined, '.junie', 'mcp', 'mcp.json'),
    inProject('LibreChat', 'librechat', 'librechat.yaml'),
  ];
}

/** The version from the Microsoft Store sees other files under the same name. */
export function claudeDesktopFolders(
  { home, platform, env }: Omit<ClientHost, 'cwd'>,
  base: string,
  list = listFolder,
): string[] {
  if (platform !== 'win32') return [posix.join(base, 'Claude')];
  const packages = win32.join(env.LOCALAPPDATA ?? win32.join(home, 'AppData', 'Local'), 'Packages');
  const store = list(packages).filter((name) => name.startsWith('Claude_'));
  return [
    win32.join(base, 'Claude'),
    ...store.map((name) => win32.join(packages, name, 'LocalCache', 'Roaming', 'Claude')),
  ];
}

function listFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return []; // there is none
  }
}

function zedSettings(join: typeof posix.join, home: string, platform: NodeJS.Platform, base: string): string {
  if (platform === 'win32') return join(base, 'Zed', 'settings.json');
  return platform === 'darwin' ? join(home, '.config', 'zed', 'settings.json') : join(base, 'zed', 'settings.json');
}
