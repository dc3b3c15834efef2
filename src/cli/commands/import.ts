import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import { describe } from '../../errors.ts';
import type { ClientConfigFile, ImportedServer } from '../../registry/import.ts';
import type { Registration } from '../../registry/server.ts';
import type { ImportAnswer } from '../answers.ts';
import { api, type Client } from '../client.ts';
import { type AddCommand, createContext } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { awaitSettled } from '../settled.ts';
import type { Terminal } from '../terminal.ts';

interface ImportFlags {
  yes?: boolean;
  dryRun?: boolean;
  wait: boolean;
}

/** One server of a file and its planned outcome. */
interface Row {
  file: ClientConfigFile;
  key: string;
  registration?: Registration;
  outcome: ImportAnswer['results'][number]['outcome'] | 'duplicate';
  notes: string[];
}

export const addImport: AddCommand = (program, environment) => {
  program
    .command('import')
    .description('register the servers of Claude Desktop, Claude Code, Cursor, VS Code and Windsurf')
    .argument(
      '[file...]',
      'config files of MCP clients, or one written by export; without files, the known locations on this host are searched',
    )
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--dry-run', 'only show what would be registered')
    .option('--no-wait', 'do not wait for the connections')
    .action(async (paths: string[], options: ImportFlags, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const backup = paths.length === 1 ? readBackup(paths[0] ?? '') : undefined;
      if (backup !== undefined) return await restore(client, terminal, backup, options);
      const rows = await readFiles(await chooseFiles(paths, environment), client.url, paths.length > 0);
      const wanted = rows.filter((row) => row.outcome === 'would_register');
      if (wanted.length > 0) merge(rows, await send(client, wanted, true));

      const count = rows.filter((row) => row.outcome === 'would_register').length;
      if (count > 0 && !options.dryRun) {
        if (!options.yes) await ask(rows, count, terminal);
        merge(rows, await send(client, wanted, false));
        if (options.wait) await awaitAll(client, terminal, rows);
      }
      report(rows, terminal);
      if (rows.some((row) => row.outcome === 'invalid')) {
        throw new CommandFailure('failed', 'Some servers could not be imported; see above for the reasons.');
      }
    });
};

/** Detects a file of `export` by its first member. */
function readBackup(path: string): Record<string, unknown> | undefined {
  if (!existsSync(path)) return undefined;
  const text = readFileSync(path, 'utf8');
  return /^\s*\{\s*"format":\s*"mcp-aggregator backup"/.test(text) ? JSON.parse(text) : undefined;
}

interface Restored {
  servers: number;
  tokens: number;
  profiles: number;
  skills: number;
  conflicts: string[];
  left_out: { kind: string; name: string; reason: string }[];
}

async function restore(
  client: Client,
  terminal: Terminal,
  backup: Record<string, unknown>,
  { dryRun }: ImportFlags,
): Promise<void> {
  if (dryRun)
    throw new CommandFailure('usage', '--dry-run works with config files of MCP clients only, not with a backup');
  const restored = await client.post<Restored>(`${api}/backup`, backup);
  if (terminal.json) terminal.printJson(restored);
  else {
    const { servers, tokens, profiles, skills } = restored;
    terminal.print(`Imported ${servers} servers, ${tokens} tokens, ${profiles} profiles and ${skills} skills.`);
  }
  for (const { kind, name, reason } of restored.left_out) terminal.note(`Skipped in ${kind}: ${name}: ${reason}`);
  if (restored.conflicts.length > 0) {
    const names = restored.conflicts.join(', ');
    throw new CommandFailure('conflict', `Skipped because another server has the name: ${names}`);
  }
  if (restored.left_out.length > 0) {
    throw new CommandFailure('failed', 'Some rows of the backup are invalid and were skipped; see above.');
  }
}

async function chooseFiles(paths: string[], environment: NodeJS.ProcessEnv): Promise<ClientConfigFile[]> {
  for (const path of paths) {
    if (!existsSync(path)) throw new CommandFailure('notFound', `File not found: ${path}`);
  }
  if (paths.length > 0) return paths.map((path) => ({ client: 'file', path: resolve(path) }));
  const { findClientConfigs } = await import('../../registry/import.ts');
  const home = environment.HOME ?? homedir();
  return findClientConfigs(home, process.platform, process.cwd(), environment).filter(({ path }) => existsSync(path));
}

async function readFiles(files: ClientConfigFile[], self: string, named: boolean): Promise<Row[]> {
  const { fromClientConfig, parseClientConfig } = await import('../../registry/import.ts');
  const rows: Row[] = [];
  for (const file of files) {
    let json: unknown;
    try {
      json = parseClientConfig(readFileSync(file.path, 'utf8'));
    } catch (error) {
      // An unreadable file is listed and does not stop the others.
      rows.push({ file, key: '-', outcome: 'invalid', notes: [`cannot be read: ${describe(error)}`] });
      continue;
    }
    const { servers, problems } = fromClientConfig(json, { self });
    for (const { key, reason, skipped } of problems) {
      // Settings files of editors are searched as well and often contain no servers.
      if (key === '' && !named) continue;
      rows.push({ file, key: key || '-', outcome: skipped ? 'skipped' : 'invalid', notes: [reason] });
    }
    for (const server of servers) rows.push(toRow(file, server, rows));
  }
  return rows;
}

function toRow(file: ClientConfigFile, { key, registration, warnings }: ImportedServer, before: Row[]): Row {
  const twin = before.find((row) => row.registration?.name === registration.name && row.outcome === 'would_register');
  if (twin === undefined) return { file, key, registration, outcome: 'would_register', notes: warnings };
  const same = isDeepStrictEqual(twin.registration, registration);
  const note = same ? `the same as in ${twin.file.path}` : `another server with this name is in ${twin.file.path}`;
  return { file, key, registration, outcome: 'duplicate', notes: [note] };
}

const send = (client: Client, rows: Row[], dryRun: boolean) =>
  client.post<ImportAnswer>(`${api}/servers/import?dry_run=${dryRun}`, {
    servers: rows.map((row) => row.registration),
  });

function merge(rows: Row[], answer: ImportAnswer): void {
  for (const result of answer.results) {
    const row = rows.find(({ registration, outcome }) => registration?.name === result.key && outcome !== 'duplicate');
    if (row === undefined) continue;
    row.outcome = result.outcome;
    if (result.reason !== null) row.notes.push(result.reason);
  }
}

async function ask(rows: Row[], count: number, terminal: Terminal): Promise<void> {
  if (!terminal.canAsk) {
    report(rows, terminal);
    throw new CommandFailure('usage', `Nothing was registered: confirm with --yes, or preview with --dry-run.`);
  }
  report(rows, terminal);
  const sure = await terminal.confirm(`Register ${count === 1 ? 'this server' : `these ${count} servers`}?`);
  if (!sure) throw new CommandFailure('failed', 'Nothing was registered.');
}

async function awaitAll(client: Client, terminal: Terminal, rows: Row[]): Promise<void> {
  const connecting = rows.filter((row) => row.outcome === 'registered' && row.registration?.auto_connect !== false);
  let open = connecting.length;
  await terminal.progress(`connecting ${open} servers`, (update) =>
    Promise.all(
      connecting.map(async (row) => {
        const server = await awaitSettled(client, row.registration?.name ?? '', () => undefined);
        const problem = server.error_message ?? server.discovery_error;
        row.notes.unshift(`${server.status}${problem === undefined ? `, ${server.tool_count} tools` : `: ${problem}`}`);
        open -= 1;
        update(`connecting ${open} servers`);
      }),
    ),
  );
}

const words: Record<Row['outcome'], string> = {
  would_register: 'new',
  registered: 'registered',
  already_exists: 'exists',
  duplicate: 'duplicate',
  skipped: 'skipped',
  invalid: 'invalid',
};

function report(rows: Row[], terminal: Terminal): void {
  if (terminal.json) {
    return terminal.printJson({
      results: rows.map(({ file, key, registration, outcome, notes }) => ({
        client: file.client,
        file: file.path,
        key,
        name: registration?.name ?? null,
        outcome,
        notes,
      })),
    });
  }
  if (rows.length === 0) return terminal.note('No servers found in the config files on this host.');
  for (const path of new Set(rows.map(({ file }) => file.path))) {
    const ofFile = rows.filter(({ file }) => file.path === path);
    terminal.print(terminal.style('bold', `${ofFile[0]?.file.client}: ${path}`));
    terminal.table(
      ['', 'SERVER', 'TRANSPORT', 'WHAT', ''],
      ofFile.map(({ key, registration, outcome, notes }) => [
        words[outcome],
        registration?.name ?? key,
        registration?.transport_type ?? '-',
        registration === undefined ? '-' : shorten(summarise(registration)),
        notes.join('; '),
      ]),
    );
  }
}

function summarise({ connection_config: config }: Registration): string {
  if ('command' in config) return [config.command, ...(config.args ?? [])].join(' ');
  return 'url' in config ? config.url : config.base_url;
}

const shorten = (text: string) => (text.length > 60 ? `${text.slice(0, 59)}…` : text);
