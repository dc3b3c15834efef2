import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, hostname } from 'node:os';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import type { z } from 'zod';
import type { importView } from '../../http/routes/import.ts';
import { api } from '../client.ts';
import type { ClientEntry, McpClient, Way } from '../client-configs/clients.ts';
import { lineDifference } from '../client-configs/line-difference.ts';
import { UneditableConfig } from '../client-configs/uneditable.ts';
import { type AddCommand, type CommandContext, createContext, globalFlags } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { dataDirOf, resolveTarget } from '../target.ts';

interface ConnectClientFlags {
  profile?: string;
  name: string;
  dryRun?: boolean;
  undo?: boolean;
  move?: boolean;
  yes?: boolean;
}

type ImportView = z.infer<typeof importView>;

/** Clients prefix tool names (up to 50 characters) with `mcp__<name>__` and allow 64 characters. */
const maxName = 7;
const backupSuffix = '.before-mcp-aggregator';

export const addConnectClient: AddCommand = (program, environment) => {
  program
    .command('connect-client')
    .description('add the aggregator to the configuration of an MCP client, with a new token')
    .argument('<client>', 'claude-desktop, claude-code, cursor, vscode, codex, windsurf or zed')
    .option('--profile <name>', 'limit the client to this profile')
    .option('--name <name>', 'name of the aggregator in the client', 'gateway')
    .option('--move', "move the client's other servers into the aggregator")
    .option('--no-move', 'keep the other servers in the client, without asking')
    .option('--dry-run', 'only show what would change')
    .option('--undo', 'remove the aggregator, restore moved servers, revoke the token')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (id: string, options: ConnectClientFlags, self: Command) => {
      const { clients } = await import('../client-configs/clients.ts');
      const client = clients.find((known) => known.id === id);
      if (client === undefined) {
        const known = clients.map((each) => each.id).join(', ');
        throw new CommandFailure('usage', `"${id}" is not a known client. Known clients: ${known}`);
      }
      const context = createContext(self, environment);
      const file = client.file({ home: environment.HOME ?? homedir(), platform: process.platform, environment });
      const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
      const job: Job = { client, file, text, options, context };
      if (options.undo) return await undo(job);
      await connect(job, (token) => wayOf(self, environment, context, options, token));
    });
};

interface Job {
  client: McpClient;
  file: string;
  text: string;
  options: ConnectClientFlags;
  context: CommandContext;
}

const placeholder = 'mcpa_<a new token>';

async function connect(job: Job, wayWith: (token: string) => Way): Promise<void> {
  const { client, file, text, options, context } = job;
  const { terminal } = context;
  const present = client.read(text)[options.name];
  const kept = present === undefined ? undefined : tokenIn(present);
  // Running again with the same options changes nothing, not even the token.
  const isCurrent = kept !== undefined && same(present, client.entry(wayWith(kept)));
  const moving = await chooseMoving(job);
  if (isCurrent && moving.length === 0) {
    if (terminal.json) return terminal.printJson({ client: client.id, file, changed: false, moved: [] });
    return terminal.print(`${client.title} is already connected (${file}).`);
  }

  const build = (token: string, moved: readonly string[]) => {
    const without = moved.reduce((rest, key) => client.remove(rest, key), text);
    return client.set(without, options.name, client.entry(wayWith(token)));
  };
  show(job, text, build(kept ?? placeholder, moving));
  if (options.name.length > maxName) {
    terminal.note(`The name "${options.name}" is long: some tool names exceed 64 characters in this client.`);
  }
  if (options.dryRun) {
    if (terminal.json) terminal.printJson({ client: client.id, file, changed: false, dry_run: true, moved: moving });
    else terminal.note('Nothing was written.');
    return;
  }
  await confirm(job, 'Write these changes?');

  const moved = await move(job, moving);
  const token = isCurrent && kept !== undefined ? kept : await createToken(job);
  write(job, build(token, moved));
  if (terminal.json) return terminal.printJson({ client: client.id, file, changed: true, moved });
  if (moved.length > 0) terminal.print(`Moved into the aggregator: ${moved.join(', ')}.`);
  terminal.print(
    `${client.title} is connected; restart it to see the tools. To undo: connect-client ${client.id} --undo`,
  );
}

async function undo(job: Job): Promise<void> {
  const { client, file, text, options, context } = job;
  const { terminal } = context;
  const present = client.read(text)[options.name];
  const backup = existsSync(file + backupSuffix) ? readFileSync(file + backupSuffix, 'utf8') : undefined;
  if (present === undefined && backup === undefined) {
    if (terminal.json) return terminal.printJson({ client: client.id, file, changed: false });
    return terminal.print(`${client.title} is not connected (${file}).`);
  }
  const next = restored(job, backup);
  show(job, text, next ?? '');
  if (options.dryRun) return terminal.note('Nothing was written.');
  await confirm(job, 'Undo?');
  if (next === undefined) rmSync(file);
  else writeFileSync(file, next);
  rmSync(file + backupSuffix, { force: true });
  const id = /^mcpa_([0-9a-f]+)_/.exec((present && tokenIn(present)) ?? '')?.[1];
  if (id !== undefined) await revoke(job, id);
  if (terminal.json) terminal.printJson({ client: client.id, file, changed: true });
  else terminal.print(`The configuration of ${client.title} is restored.`);
}

/** The file without our entry, byte for byte if it was not changed since; undefined if there was no file. */
function restored({ client, text, options }: Job, backup: string | undefined): string | undefined {
  const { [options.name]: ours, ...others } = client.read(text);
  const without = client.remove(text, options.name);
  if (backup === undefined) return Object.keys(others).length === 0 && isBare(without) ? undefined : without;
  const moved = Object.entries(client.read(backup)).filter(([key]) => !(key in others) && key !== options.name);
  const bare = moved.reduce((rest, [key]) => client.remove(rest, key), backup);
  if (ours !== undefined && client.set(bare, options.name, ours) === text) return backup;
  return moved.reduce((rest, [key, entry]) => client.set(rest, key, entry), without);
}

/** Only the list that `connect-client` created. */
const isBare = (text: string) => /^\s*(\{\s*"\w+":\s*\{\s*\}\s*\})?\s*$/.test(text);

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, part]) => [key, sorted(part)]),
  );
}

function tokenIn(entry: ClientEntry): string | undefined {
  return /mcpa_[0-9a-f]+_[\w-]+/.exec(JSON.stringify(entry))?.[0];
}

function wayOf(
  command: Command,
  environment: NodeJS.ProcessEnv,
  { client }: CommandContext,
  { profile }: ConnectClientFlags,
  token: string,
): Way {
  const flags = globalFlags(command);
  const named = flags.url ?? environment.MCP_AGGREGATOR_URL;
  // Without a fixed address, the program finds the aggregator through its data directory or starts it.
  const place = named === undefined ? ['--data-dir', dataDirOf(flags, environment)] : ['--url', client.url];
  const script = realpathSync(process.argv[1] ?? '');
  return {
    token,
    url: `${resolveTarget(flags, environment).url}${profile === undefined ? '/mcp' : `/mcp/profiles/${encodeURIComponent(profile)}`}`,
    program: {
      command: process.execPath,
      args: [script, 'stdio', ...place, ...(profile === undefined ? [] : ['--profile', profile])],
    },
  };
}

/** The client's servers to move, after confirmation. */
async function chooseMoving(job: Job): Promise<string[]> {
  const { client, text, options, context } = job;
  const { [options.name]: _ours, ...others } = client.read(text);
  if (Object.keys(others).length === 0 || options.move === false) return [];
  const { results } = await sendImport(job, others, true);
  const movable = results
    .filter(({ key, outcome }) => outcome === 'would_register' && isRemovable(job, key))
    .map(({ key }) => key);
  for (const { key, outcome, reason } of results) {
    if (outcome === 'already_exists')
      context.terminal.note(`${key} stays in the client: the aggregator already has a server with this name.`);
    if (outcome === 'invalid') context.terminal.note(`${key} stays in the client: ${reason}`);
  }
  if (movable.length === 0 || options.move === true) return movable;
  if (options.yes || !context.terminal.canAsk) return [];
  const names = movable.join(', ');
  return (await context.terminal.confirm(`Move its other servers (${names}) into the aggregator?`)) ? movable : [];
}

/** Registers only servers that can be removed from the file without loss. */
function isRemovable({ client, text, context }: Job, key: string): boolean {
  try {
    client.remove(text, key);
    return true;
  } catch (error) {
    if (!(error instanceof UneditableConfig)) throw error;
    context.terminal.note(`${key} stays in the client: ${error.message}`);
    return false;
  }
}

async function move(job: Job, keys: readonly string[]): Promise<string[]> {
  if (keys.length === 0) return [];
  const entries = Object.entries(job.client.read(job.text)).filter(([key]) => keys.includes(key));
  const { results } = await sendImport(job, Object.fromEntries(entries), false);
  return results.filter(({ outcome }) => outcome === 'registered').map(({ key }) => key);
}

/** Codex uses `http_headers` for headers; its other fields have common names. */
function sendImport({ context }: Job, entries: Record<string, ClientEntry>, dryRun: boolean): Promise<ImportView> {
  const mcpServers = Object.fromEntries(
    Object.entries(entries).map(([key, { http_headers: headers, ...entry }]) => [
      key,
      headers === undefined ? entry : { ...entry, headers },
    ]),
  );
  return context.client.post<ImportView>(`${api}/servers/import?dry_run=${dryRun}`, { mcpServers });
}

async function createToken({ client, options, context }: Job): Promise<string> {
  const { token } = await context.client.post<{ token: string }>('/api/v1/tokens', {
    name: `${client.title} on ${hostname()}`,
    role: 'caller',
    profile: options.profile,
  });
  return token;
}

async function revoke({ context }: Job, id: string): Promise<void> {
  try {
    await context.client.delete(`/api/v1/tokens/${id}`);
  } catch (error) {
    // Already revoked, or created by an aggregator that no longer exists.
    if (!(error instanceof CommandFailure)) throw error;
    context.terminal.note(`Could not revoke the token: ${error.message}`);
  }
}

/** Keeps the first backup, which is the file before any change by `connect-client`. */
function write({ file, text }: Job, next: string): void {
  mkdirSync(dirname(file), { recursive: true });
  if (existsSync(file) && !existsSync(file + backupSuffix)) writeFileSync(file + backupSuffix, text, { mode: 0o600 });
  // Set the mode explicitly: an existing file would keep its mode, and other users could read the token.
  if (existsSync(file)) chmodSync(file, 0o600);
  writeFileSync(file, next, { mode: 0o600 });
}

async function confirm({ options, context: { terminal } }: Job, question: string): Promise<void> {
  if (options.yes) return;
  if (!terminal.canAsk)
    throw new CommandFailure('usage', 'Nothing was written: confirm with --yes, or preview with --dry-run.');
  if (!(await terminal.confirm(question))) throw new CommandFailure('failed', 'Nothing was written.');
}

function show({ file, context: { terminal } }: Job, before: string, after: string): void {
  if (terminal.json) return;
  terminal.print(terminal.style('bold', file));
  const styles = { '+': 'green', '-': 'red', ' ': 'dim', '…': 'dim' } as const;
  for (const { sign, text } of lineDifference(before, after)) {
    terminal.print(terminal.style(styles[sign], `${sign} ${text.replace(/(mcpa_[0-9a-f]+_)[\w-]+/g, '$1…')}`));
  }
}
