import { existsSync, readFileSync } from 'node:fs';
import { basename, isAbsolute } from 'node:path';
import type { Command } from 'commander';
import type { Registration } from '../../registry/server.ts';
import { api, type Client } from '../client.ts';
import { type AddCommand, createContext } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import type { ImportRow } from '../import-plan.ts';
import type { Terminal } from '../terminal.ts';

interface ImportFlags {
  yes?: boolean;
  dryRun?: boolean;
  wait: boolean;
}

export const addImport: AddCommand = (program, environment) => {
  program
    .command('import')
    .description('register the servers of the MCP clients on this host, or of files')
    .argument(
      '[file...]',
      'config files of MCP clients (JSON, TOML or YAML), or one written by export; without files, the known locations on this host are searched',
    )
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--dry-run', 'only show what would be registered')
    .option('--no-wait', 'do not wait for the connections')
    .action(async (paths: string[], options: ImportFlags, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      for (const path of paths) {
        if (!existsSync(path)) throw new CommandFailure('notFound', `File not found: ${path}`);
      }
      const backup = paths.length === 1 ? readBackup(paths[0] ?? '') : undefined;
      if (backup !== undefined) return await restore(client, terminal, backup, options);
      // Loaded lazily, because no other command reads TOML or YAML.
      const { awaitRows, chooseFiles, readFiles, sendRows } = await import('../import-plan.ts');
      const files = chooseFiles(paths, environment);
      const read = (answers?: ReadonlyMap<string, string>) =>
        readFiles(files, { self: client.url, environment, isNamed: paths.length > 0, answers });
      const rows = read(options.dryRun ? undefined : await askInputs(read(), terminal));
      await sendRows(client, rows, true);
      const count = rows.filter((row) => row.outcome === 'would_register').length;
      if (count > 0 && !options.dryRun) {
        if (!options.yes) await confirm(rows, count, terminal);
        await sendRows(client, rows, false);
        if (options.wait)
          await awaitRows(
            client,
            terminal,
            rows.filter((row) => row.outcome === 'registered'),
          );
      }
      report(rows, terminal);
      const failed = rows.filter(({ outcome, state }) => outcome === 'invalid' || state?.isConnected === false);
      if (failed.length > 0) throw new CommandFailure('failed', summarise(failed));
    });
};

function summarise(failed: readonly ImportRow[]): string {
  const count = (number: number) => (number === 1 ? '1 server' : `${number} servers`);
  const refused = failed.filter(({ outcome }) => outcome === 'invalid').length;
  const broken = failed.length - refused;
  return [
    ...(refused === 0 ? [] : [`${count(refused)} could not be imported; see above for the reasons.`]),
    ...(broken === 0 ? [] : [`${count(broken)} registered but not connected. To repair: mcp-aggregator edit <server>`]),
  ].join('\n');
}

/** What the clients would ask their user for, asked once for each file. */
async function askInputs(rows: readonly ImportRow[], terminal: Terminal): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  if (!terminal.canAsk) return answers;
  for (const { file, inputs } of rows) {
    for (const { id, description, isSecret } of inputs) {
      if (answers.has(id)) continue;
      const answer = await terminal.ask(`${file.client} asks for ${description}`, { isSecret });
      if (answer !== '') answers.set(id, answer);
    }
  }
  return answers;
}

/** Detects a file of `export` by its first member. */
function readBackup(path: string): Record<string, unknown> | undefined {
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

async function confirm(rows: ImportRow[], count: number, terminal: Terminal): Promise<void> {
  report(rows, terminal);
  if (!terminal.canAsk) {
    throw new CommandFailure('usage', `Nothing was registered: confirm with --yes, or preview with --dry-run.`);
  }
  const sure = await terminal.confirm(`Register ${count === 1 ? 'this server' : `these ${count} servers`}?`);
  if (!sure) throw new CommandFailure('failed', 'Nothing was registered.');
}

const words: Record<ImportRow['outcome'], string> = {
  would_register: 'new',
  registered: 'registered',
  already_exists: 'exists',
  duplicate: 'duplicate',
  skipped: 'skipped',
  invalid: 'invalid',
};

export function report(rows: readonly ImportRow[], terminal: Terminal): void {
  if (terminal.json) {
    return terminal.printJson({
      results: rows.map(({ file, key, name, twin, outcome, notes, state }) => ({
        client: file.client,
        file: file.path,
        key,
        name: name ?? twin?.name ?? null,
        outcome,
        notes: [...(state === undefined ? [] : [state.text]), ...notes],
      })),
    });
  }
  if (rows.length === 0) return terminal.note('No servers found in the config files on this host.');
  for (const path of new Set(rows.map(({ file }) => file.path))) {
    const ofFile = rows.filter(({ file }) => file.path === path);
    terminal.print(terminal.style('bold', `${ofFile[0]?.file.client}: ${path}`));
    terminal.table(
      ['', 'SERVER', 'TRANSPORT', 'WHAT', ''],
      ofFile.map(({ key, name, registration, outcome, notes, state }) => [
        words[outcome],
        name ?? key,
        registration?.transport_type ?? '-',
        registration === undefined ? '-' : shorten(describeConnection(registration)),
        [...(state === undefined ? [] : [state.text]), ...notes].join('; '),
      ]),
    );
  }
}

function describeConnection({ connection_config: config }: Registration): string {
  if ('command' in config) return [basename(config.command), ...(config.args ?? []).map(shortPath)].join(' ');
  return 'url' in config ? config.url : config.base_url;
}

/** The last two parts of a long path are enough to know it. */
const shortPath = (word: string) =>
  isAbsolute(word) && word.length > 30 ? `…/${word.split(/[\\/]/).slice(-2).join('/')}` : word;

const shorten = (text: string) => (text.length > 60 ? `${text.slice(0, 59)}…` : text);
