/** The servers that the questions are asked of, and the data behind them, in one directory. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createDatabase } from './data/database.ts';
import { docs } from './data/docs.ts';
import { graph } from './data/graph.ts';
import { createRepository } from './data/repository.ts';
import { site } from './data/site.ts';
import { vault } from './data/vault.ts';

export interface WorldServer {
  name: string;
  connection: { command: string; args: string[]; env?: Record<string, string>; cwd?: string };
}

export interface World {
  servers: WorldServer[];
  /** One line for each server that is not there. */
  skipped: string[];
  /** Where the web pages of the questions are served; empty when they are not. */
  site: string;
  /** Calls of writing tools that the stand-ins recorded, and files of the real servers that changed. */
  findWrites(): string[];
  close(): Promise<void>;
}

type Found = Pick<World, 'servers' | 'skipped'>;

const standIns = [
  ...['issues', 'mail', 'wiki', 'calendar', 'crm', 'ci', 'chat', 'documents', 'support-desk'],
  ...['browser', 'erp', 'archive'],
];
// mcp-obsidian does not declare Zod, and its schemas come out empty with version 4.
const npmPackages = ['mcp-obsidian@1.0.0', 'mcp-ripgrep@0.4.0', 'zod@3.25.76'];
// mcp-server-sqlite 2025.4.25 does not start with version 2 of the Python SDK.
const pythonPackages = [
  ...['mcp==1.30.0', 'mcp-server-sqlite==2025.4.25', 'mcp-server-git==2026.10.10'],
  ...['mcp-server-time==2026.10.10', 'mcp-server-fetch==2026.10.10'],
];

/** Everything that this machine can run; packages are installed once, into a cache directory. */
export async function createWorld(directory: string): Promise<World> {
  const versions = createHash('sha256')
    .update([...npmPackages, ...pythonPackages].join())
    .digest('hex');
  const cache = join(tmpdir(), `mcp-aggregator-bench-questions-${versions.slice(0, 8)}`);
  mkdirSync(cache, { recursive: true });
  writeFiles(join(directory, 'vault'), vault);
  createRepository(join(directory, 'repository'));
  const local = createLocalWorld(directory);
  const npm = findNpmServers(directory, cache);
  const python = findPythonServers(directory, cache);
  const pages = await servePages();
  const everything = nodeServer('everything', binary(root, 'mcp-server-everything'));
  // Python's SQLite server takes the place of the stand-in.
  const kept = local.servers.filter(({ name }) => python.servers.every((server) => server.name !== name));
  return {
    ...local,
    ...pages,
    servers: [...kept, everything, ...npm.servers, ...python.servers],
    skipped: [...npm.skipped, ...python.skipped],
  };
}

/** The part that needs neither network nor Python. */
export function createLocalWorld(directory: string): World {
  const database = join(directory, 'rental.db');
  const memory = join(directory, 'memory.jsonl');
  writeFiles(join(directory, 'docs'), docs);
  writeFileSync(memory, graph);
  writeFileSync(writeLog(directory), '');
  createDatabase(database);
  return {
    servers: [
      ...standIns.map((name) => standIn(name, directory)),
      { ...standIn('database', directory, database), name: 'sqlite' },
      nodeServer('filesystem', binary(root, 'mcp-server-filesystem'), [join(directory, 'docs')]),
      nodeServer('memory', binary(root, 'mcp-server-memory'), [], { MEMORY_FILE_PATH: memory }),
    ],
    skipped: [],
    site: '',
    findWrites: watchWrites(directory),
    close: async () => undefined,
  };
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const binary = (prefix: string, name: string) => join(prefix, 'node_modules', '.bin', name);
const writeLog = (directory: string) => join(directory, 'writes.jsonl');

function nodeServer(name: string, file: string, args: string[] = [], env: Record<string, string> = {}): WorldServer {
  return { name, connection: { command: process.execPath, args: [file, ...args], env } };
}

function standIn(name: string, directory: string, ...args: string[]): WorldServer {
  const file = fileURLToPath(new URL(`servers/${name}.ts`, import.meta.url));
  return nodeServer(name, file, args, { QUESTIONS_WRITE_LOG: writeLog(directory) });
}

function findNpmServers(directory: string, cache: string): Found {
  const install = ['install', '--prefix', cache, '--no-save', '--ignore-scripts', '--fetch-retries=1', ...npmPackages];
  const problem = existsSync(binary(cache, 'mcp-ripgrep')) ? undefined : run('npm', install);
  if (problem !== undefined) return { servers: [], skipped: [`obsidian, ripgrep: ${problem}`] };

  const obsidian = nodeServer('obsidian', binary(cache, 'mcp-obsidian'), [join(directory, 'vault')]);
  const { name, connection } = nodeServer('ripgrep', binary(cache, 'mcp-ripgrep'));
  const ripgrep = { name, connection: { ...connection, cwd: join(directory, 'repository') } };
  const missing = run('rg', ['--version']);
  return missing === undefined
    ? { servers: [obsidian, ripgrep], skipped: [] }
    : { servers: [obsidian], skipped: [`ripgrep: ${missing}`] };
}

function findPythonServers(directory: string, cache: string): Found {
  const environment = join(cache, 'python');
  const program = (name: string) => join(environment, 'bin', name);
  const problem = existsSync(program('mcp-server-fetch'))
    ? undefined
    : (run('python3', ['-m', 'venv', environment]) ??
      run(program('pip'), ['install', '--quiet', '--retries=1', ...pythonPackages]));
  if (problem !== undefined) return { servers: [], skipped: [`git, time, fetch: ${problem}`] };

  const pythonServer = (name: string, ...args: string[]): WorldServer => ({
    name,
    connection: { command: program(`mcp-server-${name}`), args },
  });
  return {
    servers: [
      pythonServer('sqlite', '--db-path', join(directory, 'rental.db')),
      pythonServer('git', '--repository', join(directory, 'repository')),
      pythonServer('time', '--local-timezone', 'UTC'),
      pythonServer('fetch', '--allow-private-ips'),
    ],
    skipped: [],
  };
}

/** What went wrong, or nothing. */
function run(command: string, args: string[]): string | undefined {
  const { error, status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (error !== undefined) return `${command} could not be started (${error.message})`;
  if (status === 0) return undefined;
  const reason = stderr.split('\n').find((line) => /\berror\b/i.test(line)) ?? `exit code ${status}`;
  return `${basename(command)} ${args[0]} failed (${reason})`;
}

async function servePages(): Promise<Pick<World, 'site' | 'close'>> {
  const server = createServer(({ url = '' }, response) => {
    const page = site[url];
    if (page === undefined) return void response.writeHead(404).end();
    const [title, body] = page;
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(`<!doctype html><html lang="en"><head><title>${title}</title></head><body>${body}</body></html>`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    site: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function writeFiles(directory: string, files: Record<string, string>): void {
  for (const [path, content] of Object.entries(files)) {
    const file = join(directory, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

function watchWrites(directory: string): () => string[] {
  const before = hashFiles(directory);
  return () => {
    const after = hashFiles(directory);
    const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
      (path) => before.get(path) !== after.get(path),
    );
    const calls = readFileSync(writeLog(directory), 'utf8').split('\n').filter(Boolean);
    return [...calls, ...changed.map((path) => `changed file: ${path}`)];
  };
}

/** Git refreshes its index when it only reads, and the log of writing calls is read by itself. */
function hashFiles(directory: string): Map<string, string> {
  const ignored = [join('repository', '.git', 'index'), 'writes.jsonl'];
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = entries.map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1));
  return new Map(
    files
      .filter((path) => !ignored.includes(path))
      .map((path) => [
        path,
        createHash('sha256')
          .update(readFileSync(join(directory, path)))
          .digest('hex'),
      ]),
  );
}
