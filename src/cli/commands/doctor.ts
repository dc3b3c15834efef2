/** `doctor`: checks the installation step by step and suggests fixes. */
import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Command } from 'commander';
import { type Config, loadConfig } from '../../config/config.ts';
import { describe } from '../../errors.ts';
import { databaseFileIn, refuseCutDatabase } from '../../store/integrity.ts';
import { repairDatabase } from '../../store/repair.ts';
import { StorageFault } from '../../store/storage-fault.ts';
import { version } from '../../version.ts';
import type { ServerDetail } from '../answers.ts';
import { api, type Client, serverPath } from '../client.ts';
import { type AddCommand, createContext, globalFlags } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { findDiscoveryError } from '../settled.ts';
import { dataDirOf } from '../target.ts';
import type { Terminal } from '../terminal.ts';
import { addDoctorClient } from './doctor-client.ts';
import { addDoctorSearch } from './doctor-search.ts';

interface Finding {
  what: string;
  verdict: 'ok' | 'warning' | 'problem';
  /** The result of the check. */
  detail: string;
  /** The suggested fix. */
  advice?: string;
}

export const addDoctor: AddCommand = (program, environment) => {
  const doctor = program.command('doctor');
  addDoctorClient(doctor, environment);
  addDoctorSearch(doctor, environment);
  doctor
    .description('check the installation, the aggregator and every server, and suggest fixes')
    .option(
      '--repair',
      'replace a damaged embedded database with its last good daily backup; stop the aggregator first',
    )
    .action(async (options: { repair?: boolean }, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const dataDir = dataDirOf(globalFlags(self), environment);
      if (options.repair) return repair(dataDir, environment, terminal);
      const findings = await terminal.progress('looking', async () => {
        const configuration = checkConfiguration(environment);
        const running = await checkAggregator(client);
        return [
          checkNode(process.versions.node),
          configuration.finding,
          ...checkDataDirectory(dataDir),
          running.database ?? (await checkDatabase(dataDir, configuration.config)),
          running.finding,
          ...(running.runs ? await checkServers(client) : []),
        ];
      });
      const problems = findings.filter(({ verdict }) => verdict === 'problem');
      if (terminal.json) terminal.printJson({ ok: problems.length === 0, findings });
      else {
        const marks = {
          ok: terminal.style('green', 'ok     '),
          warning: terminal.style('yellow', 'warning'),
          problem: terminal.style('red', 'problem'),
        };
        for (const { what, verdict, detail, advice } of findings) {
          terminal.print(`${marks[verdict]}  ${what}: ${detail}`);
          if (advice !== undefined) terminal.say(advice.replace(/^/gm, '         -> '));
        }
      }
      if (problems.length > 0) {
        throw new CommandFailure(
          'failed',
          `${problems.length === 1 ? '1 problem' : `${problems.length} problems`} found.`,
        );
      }
    });
};

function repair(dataDir: string, environment: NodeJS.ProcessEnv, terminal: Terminal): void {
  if (checkConfiguration(environment).config?.databaseUrl !== undefined) {
    throw new CommandFailure('usage', 'DATABASE_URL is set: restore PostgreSQL with its own tools (pg_restore).');
  }
  if (!existsSync(dataDir)) throw new CommandFailure('notFound', `${dataDir} does not exist.`);
  const repaired = repairDatabase(dataDir);
  if (repaired.outcome === 'no backup') {
    throw new CommandFailure(
      'failed',
      `${repaired.damage}\nNo intact backup found in ${join(dataDir, 'backups')}. To start with an empty database, move the file away; to restore an export: mcp-aggregator import`,
    );
  }
  if (terminal.json) return terminal.printJson(repaired);
  if (repaired.outcome === 'nothing to do') return terminal.print('The database is intact: nothing to repair.');
  terminal.print(repaired.damage);
  terminal.print(`Restored the backup of ${repaired.at.toISOString()}; later changes are lost.`);
  terminal.print(`The damaged files are in ${repaired.damagedFiles}.`);
}

export function checkNode(running: string): Finding {
  const [major = 0, minor = 0] = running.split('.').map(Number);
  const fits = major > 22 || (major === 22 && minor >= 18);
  const found = { what: 'Node', detail: `${running}, mcp-aggregator ${version}` };
  return fits
    ? { ...found, verdict: 'ok' }
    : { ...found, verdict: 'problem', advice: 'Install Node 22.18 or newer from https://nodejs.org' };
}

function checkConfiguration(environment: NodeJS.ProcessEnv): { finding: Finding; config?: Config } {
  const what = 'configuration';
  try {
    return { config: loadConfig(environment), finding: { what, verdict: 'ok', detail: 'all settings are valid' } };
  } catch (error) {
    const finding: Finding = { what, verdict: 'problem', detail: 'serve would not start', advice: describe(error) };
    return { finding };
  }
}

const groupAndOthers = 0o077;

function checkDataDirectory(dataDir: string): Finding[] {
  const what = 'data directory';
  if (!existsSync(dataDir)) {
    return [{ what, verdict: 'ok', detail: `${dataDir} does not exist yet; the first start creates it` }];
  }
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    return [
      { what, verdict: 'problem', detail: describe(error), advice: `Make ${dataDir} readable and writable for you` },
    ];
  }
  // Windows has no permission bits.
  const open = ['', 'credential-key', 'admin-token', 'identity-key', 'sign-ins.json']
    .map((name) => join(dataDir, name))
    .filter((path) => process.platform !== 'win32' && existsSync(path) && (statSync(path).mode & groupAndOthers) !== 0);
  if (open.length === 0) return [{ what, verdict: 'ok', detail: dataDir }];
  return open.map((path) => ({
    what,
    verdict: path === dataDir ? 'warning' : 'problem',
    detail: `${path} can be read by others`,
    advice: `chmod go-rwx ${path}`,
  }));
}

/** Does not open the database, because an aggregator may start at any moment and needs exclusive access. */
async function checkDatabase(dataDir: string, config: Config | undefined): Promise<Finding> {
  const what = 'database';
  if (config?.databaseUrl !== undefined) {
    const { hostname, port } = new URL(config.databaseUrl);
    const place = `PostgreSQL at ${hostname}:${port || 5432}`;
    const problem = await reach(hostname || 'localhost', Number(port || 5432));
    if (problem === undefined) return { what, verdict: 'ok', detail: `${place} accepts connections` };
    return { what, verdict: 'problem', detail: `${place}: ${problem}`, advice: 'Start it, or correct DATABASE_URL' };
  }
  const file = databaseFileIn(dataDir);
  if (!existsSync(file)) return { what, verdict: 'ok', detail: 'embedded; the first start creates it' };
  try {
    refuseCutDatabase(dataDir);
  } catch (error) {
    if (!(error instanceof StorageFault)) throw error;
    return { what, verdict: 'problem', detail: `${file} is damaged`, advice: error.message };
  }
  const begin = Buffer.alloc(15);
  const descriptor = openSync(file, 'r');
  const length = readSync(descriptor, begin);
  closeSync(descriptor);
  if (length === 0 || begin.toString('latin1') === 'SQLite format 3') return { what, verdict: 'ok', detail: file };
  const advice = 'Restore the last daily backup: mcp-aggregator doctor --repair';
  return { what, verdict: 'problem', detail: `${file} is not a database`, advice };
}

function reach(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 3_000 });
    const end = (problem?: string) => {
      socket.destroy();
      resolve(problem);
    };
    socket.once('connect', () => end());
    socket.once('timeout', () => end('no answer within 3 s'));
    socket.once('error', (error) => end(describe(error) || 'refused'));
  });
}

interface Health {
  status: string;
  checks: { database: string };
  safe_mode?: string;
}

async function checkAggregator(client: Client): Promise<{ runs: boolean; finding: Finding; database?: Finding }> {
  const what = 'aggregator';
  let health: Health;
  try {
    health = await client.get<Health>(`${api}/health`);
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    // An older aggregator returns 503 if its database is unavailable.
    const answered = error.answer as Health | undefined;
    if (answered?.checks === undefined) {
      const detail = error.exit === 'denied' ? error.message : `not running at ${client.url}`;
      return { runs: false, finding: { what, verdict: 'problem', detail, advice: 'Start it: mcp-aggregator start' } };
    }
    health = answered;
  }
  const failed = health.checks.database !== 'ok';
  return {
    runs: true,
    finding: aggregatorFinding(client.url, health),
    database: {
      what: 'database',
      verdict: failed ? 'problem' : 'ok',
      detail: failed ? 'unavailable to the aggregator' : 'available to the aggregator',
      ...(failed ? { advice: 'See the log of the aggregator for the reason' } : {}),
    },
  };
}

function aggregatorFinding(url: string, { safe_mode: safeMode }: Health): Finding {
  const what = 'aggregator';
  return safeMode === undefined
    ? { what, verdict: 'ok', detail: `running at ${url}` }
    : { what, verdict: 'problem', detail: `running at ${url} in safe mode`, advice: safeMode };
}

async function checkServers(client: Client): Promise<Finding[]> {
  try {
    const { servers } = await client.get<{ servers: { id: string }[] }>(`${api}/servers?limit=1000`);
    if (servers.length === 0) {
      return [{ what: 'servers', verdict: 'ok', detail: 'none registered', advice: 'Add some: mcp-aggregator import' }];
    }
    const findings: Finding[] = [];
    for (const { id } of servers) {
      const server = await client.get<ServerDetail>(serverPath(id));
      const toolless = server.status === 'CONNECTED' && server.tool_count === 0;
      findings.push(checkServer(server, toolless ? await findDiscoveryError(client, id) : undefined));
    }
    return findings;
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    return [{ what: 'servers', verdict: 'problem', detail: 'cannot be listed', advice: error.message }];
  }
}

function checkServer(server: ServerDetail, undiscovered?: string): Finding {
  const what = `server ${server.name}`;
  const reason = server.error_message === null ? '' : `: ${server.error_message}`;
  const detail = `${server.status}${reason}`;
  switch (server.status) {
    case 'CONNECTED':
      if (undiscovered !== undefined) {
        return { what, verdict: 'problem', detail: `CONNECTED, but discovering its tools failed: ${undiscovered}` };
      }
      if (server.tool_count > 0) {
        const verdict = server.error_message === null ? 'ok' : 'warning';
        return { what, verdict, detail: `CONNECTED, ${server.tool_count} tools${reason}` };
      }
      return { what, verdict: 'warning', detail: 'CONNECTED, but it lists no tools', advice: lastOutput(server) };
    case 'CONNECTING':
    case 'DISCONNECTING':
      return { what, verdict: 'warning', detail, advice: 'Wait a moment and run doctor again' };
    case 'DISCONNECTED':
      return {
        what,
        verdict: 'ok',
        detail,
        advice: `It was disconnected; to use it: mcp-aggregator connect ${server.name}`,
      };
    case 'DEGRADED':
      return { what, verdict: 'warning', detail, advice: 'Its health checks fail; calls are still sent' };
    case 'ERROR':
      return {
        what,
        verdict: 'problem',
        detail,
        advice: [tryByHand(server), lastOutput(server)].filter(Boolean).join('\n'),
      };
  }
}

function tryByHand({ name, transport_type, connection_config: config }: ServerDetail): string {
  const again = `then: mcp-aggregator connect ${name}`;
  if (transport_type !== 'STDIO')
    return `Check whether it responds: curl -i ${config.url ?? config.base_url}; ${again}`;
  const words = [config.command, ...(Array.isArray(config.args) ? config.args : [])];
  return `Run it manually to see its output: ${words.join(' ')}; ${again}`;
}

function lastOutput({ stderr_tail: output }: ServerDetail): string | undefined {
  const last = output?.trim().split('\n').at(-1);
  return last ? `Last line of its output: ${last}` : undefined;
}
