import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { version } from '../../version.ts';
import type { ServerList } from '../answers.ts';
import { ensureRunning, findRunning, runningVersion, stopRunning } from '../background.ts';
import { api, type Client, createClient } from '../client.ts';
import { type AddCommand, globalFlags } from '../command.ts';
import type { ClientFile } from '../connected-client.ts';
import { CommandFailure } from '../exit-code.ts';
import type { ImportRow } from '../import-plan.ts';
import { keepProgram } from '../own-program.ts';
import { planService, runAsService } from '../run-as-service.ts';
import { canInstall, isInstalled, isUpToDate, serviceOf } from '../service.ts';
import { confirm, type Setup, type SetupFlags } from '../setup-context.ts';
import { finish } from '../setup-result.ts';
import { readSetup, type SetupState, writeSetup } from '../setup-state.ts';
import { undo } from '../setup-undo.ts';
import { dataDirOf, resolveTarget, type Target } from '../target.ts';
import { createTerminal } from '../terminal.ts';
import { defaultName, wayTo } from './connect-client.ts';
import { report } from './import.ts';

export const addSetup: AddCommand = (program, environment) => {
  program
    .command('setup')
    .description('find your MCP clients and their servers, import the servers, connect the clients, run the aggregator')
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--dry-run', 'only show what would be done')
    .option('--no-service', 'do not install a service; clients start the aggregator in the background')
    .option('--undo', 'take everything back that setup did')
    .action(async (options: SetupFlags, self: Command) => {
      const flags = globalFlags(self);
      const terminal = createTerminal({ json: flags.json === true, environment });
      const modules = {
        ...(await import('../connected-client.ts')),
        ...(await import('../import-plan.ts')),
        ...(await import('../client-check.ts')),
      };
      const setup: Setup = { flags, options, environment, terminal, dataDir: dataDirOf(flags, environment), modules };
      await (options.undo ? undo(setup) : setUp(setup));
    });
};

async function setUp(setup: Setup): Promise<void> {
  const { options, terminal } = setup;
  const canAsk = terminal.canAsk && options.yes !== true;
  const { url } = resolveTarget(setup.flags, setup.environment);
  const rows = readServers(setup, { self: url, canAsk });
  const clients = findClients(setup);
  showPlan(setup, rows, clients);
  if (options.dryRun) return terminal.note('Nothing was changed.');
  await confirm(setup, 'Do this?');

  const state = begin(setup);
  const target = await run(setup, state);
  const client = createClient(target);
  const answers = await askInputs(setup, rows);
  const imported = await importServers(setup, state, client, answers);
  await setup.modules.awaitRows(client, terminal, imported);
  for (const at of clients.files) await connect(setup, state, client, at, imported);
  await finish(setup, target, clients.files, imported);
}

interface FoundClients {
  files: ClientFile[];
  /** Files that cannot be edited, each with the reason. */
  problems: string[];
}

/** Of the clients that can be connected, those that are here. */
function findClients({ modules, environment }: Setup): FoundClients {
  const found: FoundClients = { files: [], problems: [] };
  for (const client of modules.knownClients) {
    if (!existsSync(modules.fileOf(client, environment))) continue;
    try {
      found.files.push(modules.openClientFile(client, defaultName, environment));
    } catch (error) {
      // One broken file must not keep the other clients from being connected.
      if (!(error instanceof CommandFailure)) throw error;
      found.problems.push(`${client.title} is left as it is: ${error.message}`);
    }
  }
  return found;
}

function readServers(
  { modules, environment }: Setup,
  { canAsk, ...options }: { self: string; canAsk: boolean; answers?: ReadonlyMap<string, string> },
): ImportRow[] {
  const rows = modules.readFiles(modules.chooseFiles([], environment), { ...options, environment, isNamed: false });
  return rows.map((row) => leftAlone(row, canAsk));
}

/** What its user switched off stays off, and what a project shares with others stays in the project. */
function leftAlone(row: ImportRow, canAsk: boolean): ImportRow {
  if (row.outcome !== 'would_register') return row;
  const stay = (note: string): ImportRow => ({ ...row, outcome: 'skipped', notes: [note] });
  if (row.file.project !== undefined) return stay('belongs to the project: left alone');
  if (row.registration?.auto_connect === false) return stay('disabled in the client: left alone');
  if (row.inputs.length === 0 || canAsk) return row;
  const asked = row.inputs.map(({ description }) => description).join(', ');
  return stay(`the client asks for ${asked}: run setup in a terminal`);
}

function showPlan(setup: Setup, rows: readonly ImportRow[], { files, problems }: FoundClients): void {
  const { terminal, dataDir, environment, options } = setup;
  if (terminal.json) return;
  // Without a question, the result says it all.
  if (rows.length > 0 && (options.dryRun || !options.yes)) report(rows, terminal);
  const count = rows.filter(({ outcome }) => outcome === 'would_register').length;
  const names = files.map(({ client }) => client.title);
  const steps = [
    count === 0
      ? 'No servers to import were found.'
      : `Import ${count === 1 ? '1 server' : `${count} servers`} into the aggregator.`,
    names.length === 0
      ? 'No MCP clients were found.'
      : `Connect ${names.join(', ')}; servers that connect in the aggregator leave the client.`,
    ...problems,
    wantsService(setup)
      ? `Install a ${serviceOf(dataDir, environment).title}, so that the aggregator runs after every login.`
      : `Run the aggregator in the background${options.service ? ' (no service can be installed here)' : ''}; clients start it again.`,
  ];
  terminal.print('');
  for (const step of steps) terminal.print(`- ${step}`);
}

function wantsService({ options, dataDir, environment }: Setup): boolean {
  if (!options.service) return false;
  const service = serviceOf(dataDir, environment);
  return isInstalled(service) || canInstall(service, environment);
}

/** A second run adds to what the first one did. */
function begin({ dataDir }: Setup): SetupState {
  const before = existsSync(dataDir) ? readSetup(dataDir) : undefined;
  return before ?? { createdDataDir: !existsSync(dataDir), started: false, service: false, clients: [], servers: [] };
}

/** The running aggregator, as a service where that is possible. */
async function run(setup: Setup, state: SetupState): Promise<Target> {
  const { flags, environment, terminal, dataDir } = setup;
  const before = await findRunning(flags, environment);
  if (before === undefined) state.started = true;
  writeSetup(dataDir, state);
  if (wantsService(setup)) await installOwnService(setup, state);
  else if (before !== undefined) await upgrade(setup, state);
  return await terminal.progress('starting the aggregator', () => ensureRunning(flags, environment));
}

/** Again after an upgrade, because the service names the program of one version. */
async function installOwnService({ flags, environment, terminal, dataDir }: Setup, state: SetupState): Promise<void> {
  const planned = await planService(flags, environment);
  if (isUpToDate(planned)) return;
  const wasInstalled = isInstalled(planned);
  try {
    const { service } = await terminal.progress('installing the service', () => runAsService(flags, environment));
    if (!wasInstalled) state.service = true;
    terminal.note(`Installed the ${service.title}: ${service.file}`);
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    terminal.note(`No service was installed, so the aggregator runs in the background: ${error.message}`);
  }
  writeSetup(dataDir, state);
}

/** What setup started is of the version that is running setup; what its user started is theirs. */
async function upgrade({ flags, environment, terminal, dataDir }: Setup, state: SetupState): Promise<void> {
  const running = runningVersion(dataDir);
  if (running === version) return;
  if (state.started) await stopRunning(flags, environment);
  else
    terminal.note(
      `The running aggregator is version ${running ?? 'unknown'}. To run ${version}: mcp-aggregator restart`,
    );
}

async function askInputs(
  { terminal, options }: Setup,
  rows: readonly ImportRow[],
): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  if (options.yes || !terminal.canAsk) return answers;
  for (const { id, description, isSecret } of rows.flatMap(({ inputs }) => inputs)) {
    if (answers.has(id)) continue;
    const answer = await terminal.ask(description, { isSecret });
    if (answer !== '') answers.set(id, answer);
  }
  return answers;
}

async function importServers(
  setup: Setup,
  state: SetupState,
  client: Client,
  answers: ReadonlyMap<string, string>,
): Promise<ImportRow[]> {
  const rows = readServers(setup, { self: client.url, answers, canAsk: false });
  const ids = async () => (await client.get<ServerList>(`${api}/servers?limit=1000`)).servers.map(({ id }) => id);
  const before = await ids();
  await setup.modules.sendRows(client, rows, false);
  state.servers.push(...(await ids()).filter((id) => !before.includes(id)));
  writeSetup(setup.dataDir, state);
  return rows;
}

/** The client's own copy of a server goes when the one in the aggregator is connected. */
async function connect(
  setup: Setup,
  state: SetupState,
  client: Client,
  at: ClientFile,
  imported: readonly ImportRow[],
): Promise<void> {
  const { modules, flags, environment, dataDir } = setup;
  const connected = modules.movablePlaces(imported.filter(({ file }) => file.path === at.file));
  const moved = connected.filter((place) => modules.isRemovable(at, place));
  const kept = modules.tokenIn(modules.ownEntry(at));
  const wayWith = (token: string) => wayTo(flags, environment, { token });
  const isDone = kept !== undefined && modules.isCurrent(at, wayWith(kept)) && moved.length === 0;
  if (isDone) return;
  const token = kept ?? (await modules.createToken(client, at, undefined));
  if (!state.clients.includes(at.client.id)) state.clients.push(at.client.id);
  writeSetup(dataDir, state);
  keepProgram(dataDir, environment);
  modules.writeClientFile(at, modules.withAggregator(at, wayWith(token), moved));
}
