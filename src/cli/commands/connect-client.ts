import type { Command } from 'commander';
import type { ImportPlace } from '../../registry/import.ts';
import type { Way } from '../client-configs/clients.ts';
import { type AddCommand, type CommandContext, createContext, globalFlags } from '../command.ts';
import type { ClientFile } from '../connected-client.ts';
import { CommandFailure } from '../exit-code.ts';
import type { ImportRow } from '../import-plan.ts';
import { requireProfile } from '../known-names.ts';
import { keepProgram, programFor } from '../own-program.ts';
import { dataDirOf, resolveTarget, type TargetFlags } from '../target.ts';

interface ConnectClientFlags {
  profile?: string;
  name: string;
  dryRun?: boolean;
  undo?: boolean;
  move?: boolean;
  yes?: boolean;
  signIn?: boolean;
}

/** Clients prefix tool names (up to 50 characters) with `mcp__<name>__` and allow 64 characters. */
const maxName = 7;
export const defaultName = 'gateway';

export const addConnectClient: AddCommand = (program, environment) => {
  program
    .command('connect-client')
    .description('add the aggregator to the configuration of an MCP client, with a new token')
    .argument('<client>', 'claude-desktop, claude-code, cursor, vscode, codex, windsurf, zed, gemini-cli or cline')
    .option('--profile <name>', 'limit the client to this profile')
    .option('--name <name>', 'name of the aggregator in the client', defaultName)
    .option('--sign-in', 'let the client start a program that uses your sign-in, instead of a token')
    .option('--move', "move the client's other servers into the aggregator, if they connect there")
    .option('--no-move', 'keep the other servers in the client, without asking')
    .option('--dry-run', 'only show what would change')
    .option('--undo', 'remove the aggregator, restore moved servers, revoke the token')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (id: string, options: ConnectClientFlags, self: Command) => {
      // Loaded lazily, because no other command edits TOML.
      const files = await import('../connected-client.ts');
      const context = createContext(self, environment);
      const at = files.openClientFile(files.findClient(id), options.name, environment);
      const job: Job = { at, options, context, files };
      if (options.undo) return await undo(job);
      await requireProfile(context.client, options.profile);
      const { profile, signIn: usesSignIn } = options;
      await connect(job, (token) => wayTo(globalFlags(self), environment, { profile, token, usesSignIn }));
    });
};

interface Job {
  at: ClientFile;
  options: ConnectClientFlags;
  context: CommandContext;
  files: typeof import('../connected-client.ts');
}

const placeholder = 'mcpa_<a new token>';

async function connect(job: Job, wayWith: (token: string) => Way): Promise<void> {
  const { at, options, context, files } = job;
  const { terminal, client } = context;
  const kept = files.tokenIn(files.ownEntry(at));
  // Running again with the same options changes nothing, not even the token.
  const current = (kept !== undefined || options.signIn === true) && files.isCurrent(at, wayWith(kept ?? ''));
  if (kept === undefined && options.signIn !== true) await files.requireTokenCreation(client, at.client.id);
  const rows = await chooseMoving(job);
  const candidates = rows.filter(isCandidate);
  const answer = { client: at.client.id, file: at.file };
  if (current && candidates.length === 0) {
    if (terminal.json) return terminal.printJson({ ...answer, changed: false, moved: [] });
    return terminal.print(`${at.client.title} is already connected (${at.file}).`);
  }
  const places = candidates.flatMap((row) => row.places);
  files.showDifference(at, files.withAggregator(at, wayWith(kept ?? placeholder), places), terminal);
  if (options.name.length > maxName) {
    terminal.note(`The name "${options.name}" is long: some tool names exceed 64 characters in this client.`);
  }
  if (options.dryRun) {
    const moved = candidates.map(({ key }) => key);
    if (terminal.json) return terminal.printJson({ ...answer, changed: false, dry_run: true, moved });
    return terminal.note('Nothing was written.');
  }
  await confirm(job, 'Write these changes?');

  const moved = await move(job, rows);
  const token = await tokenFor(job, current ? kept : undefined);
  keepProgram(dataDirOf(context.flags, context.environment), context.environment);
  files.writeClientFile(at, files.withAggregator(at, wayWith(token), moved));
  const names = [...new Set(moved.map(({ key }) => key))];
  if (terminal.json) return terminal.printJson({ ...answer, changed: true, moved: names });
  if (names.length > 0) terminal.print(`Moved into the aggregator: ${names.join(', ')}.`);
  const { title, id } = at.client;
  terminal.say(
    `${title} is connected; restart it to see the tools. To undo: mcp-aggregator connect-client ${id} --undo`,
  );
}

/** The former one, if it is still good. */
async function tokenFor({ at, options, context, files }: Job, current: string | undefined): Promise<string> {
  if (options.signIn === true) return '';
  return current ?? (await files.createToken(context.client, at, options.profile));
}

async function undo(job: Job): Promise<void> {
  const { at, options, context, files } = job;
  const { terminal, client } = context;
  const token = files.tokenIn(files.ownEntry(at));
  const answer = { client: at.client.id, file: at.file };
  if (files.ownEntry(at) === undefined && !files.hasBackup(at)) {
    if (terminal.json) return terminal.printJson({ ...answer, changed: false });
    return terminal.print(`${at.client.title} is not connected (${at.file}).`);
  }
  files.showDifference(at, files.restoredText(at) ?? '', terminal);
  if (options.dryRun) return terminal.note('Nothing was written.');
  await confirm(job, 'Undo?');
  files.restore(at);
  if (token !== undefined && !(await files.revokeToken(client, token)))
    terminal.note('The token of the client could not be revoked; see: mcp-aggregator token list');
  if (terminal.json) terminal.printJson({ ...answer, changed: true });
  else terminal.print(`The configuration of ${at.client.title} is restored.`);
}

const isCandidate = ({ outcome, twin }: ImportRow): boolean =>
  twin === undefined ? outcome === 'would_register' || outcome === 'already_exists' : isCandidate(twin);

/** The client's servers to move, after confirmation. */
async function chooseMoving({ at, options, context, files }: Job): Promise<ImportRow[]> {
  const { client, terminal, environment } = context;
  if (options.move === false) return [];
  if ((await files.roleOf(client)) !== 'admin') {
    if (options.move !== true) return [];
    throw new CommandFailure('denied', 'Only an admin can move servers into the aggregator; leave out --move');
  }
  const rows = files.readOtherServers(at, { api: client, environment });
  const { sendRows } = await import('../import-plan.ts');
  await sendRows(client, rows, true);
  for (const row of rows)
    if (!isCandidate(row)) terminal.note(`${row.key} stays in the client: ${files.whyItStays(row)}`);
  const candidates = rows.filter(isCandidate);
  if (candidates.length === 0 || options.move === true) return rows;
  if (options.yes || !terminal.canAsk) return [];
  const names = candidates.map(({ key }) => key).join(', ');
  return (await terminal.confirm(`Move its other servers (${names}) into the aggregator?`)) ? rows : [];
}

/** Only what really connects leaves the client. */
async function move({ context, files }: Job, rows: readonly ImportRow[]): Promise<ImportPlace[]> {
  const { client, terminal } = context;
  const { awaitRows, sendRows } = await import('../import-plan.ts');
  const candidates = rows.filter(isCandidate);
  // Afterwards the rows say what became of them.
  await sendRows(client, candidates, false);
  await awaitRows(client, terminal, candidates);
  const moved = files.movablePlaces(candidates);
  for (const row of candidates) {
    if (row.places.every((place) => moved.includes(place))) continue;
    terminal.note(`${row.key} stays in the client: ${files.whyItStays(row)}`);
    if (row.name !== undefined)
      terminal.note(`  repair it: mcp-aggregator edit ${row.name}, then run this command again`);
  }
  return moved;
}

/** How a client reaches the aggregator. */
export function wayTo(
  flags: TargetFlags,
  environment: NodeJS.ProcessEnv,
  { profile, token, usesSignIn }: { profile?: string; token: string; usesSignIn?: boolean },
): Way {
  const named = flags.url ?? environment.MCP_AGGREGATOR_URL;
  const { url } = resolveTarget(flags, environment);
  const dataDir = dataDirOf(flags, environment);
  // Without a fixed address, the program finds the aggregator through its data directory or starts it.
  const isOwnDirectory = dataDir === dataDirOf({}, {});
  const place = [
    ...(named === undefined ? [] : ['--url', url]),
    // The sign-in is kept there.
    ...(named === undefined || (usesSignIn === true && !isOwnDirectory) ? ['--data-dir', dataDir] : []),
  ];
  const [command, ...args] = programFor(dataDir, environment);
  return {
    token,
    usesSignIn,
    url: `${url}${profile === undefined ? '/mcp' : `/mcp/profiles/${encodeURIComponent(profile)}`}`,
    program: { command, args: [...args, 'stdio', ...place, ...(profile === undefined ? [] : ['--profile', profile])] },
  };
}

async function confirm({ options, context: { terminal } }: Job, question: string): Promise<void> {
  if (options.yes) return;
  if (!terminal.canAsk)
    throw new CommandFailure('usage', 'Nothing was written: confirm with --yes, or preview with --dry-run.');
  if (!(await terminal.confirm(question))) throw new CommandFailure('failed', 'Nothing was written.');
}
