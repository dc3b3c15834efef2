/** Finds the aggregator and the token that a command uses. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileVariableOf } from '../config/config.ts';
import { settings } from '../config/settings.ts';
import { isLoopback } from '../loopback.ts';
import { CommandFailure } from './exit-code.ts';
import { findSignIn, tokenOf } from './sign-ins.ts';

export interface TargetFlags {
  url?: string;
  token?: string;
  dataDir?: string;
}

export interface Target {
  url: string;
  /** Called before every request, because the token of a sign-in expires and is refreshed. */
  token(): Promise<string | undefined>;
  /** Source of the token; undefined if there is none. */
  source: 'given' | 'sign-in' | 'data directory' | undefined;
  dataDir: string;
}

export function resolveTarget(flags: TargetFlags, environment: NodeJS.ProcessEnv): Target {
  const dataDir = dataDirOf(flags, environment);
  const url = flags.url ?? environment.MCP_AGGREGATOR_URL ?? addressOf(dataDir, environment);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new CommandFailure(
      'usage',
      `"${url}" is not the address of an aggregator; example: --url http://127.0.0.1:8081`,
    );
  }
  return { url: url.replace(/\/+$/, ''), dataDir, ...tokenFor(url, dataDir, flags, environment) };
}

function tokenFor(
  url: string,
  dataDir: string,
  flags: TargetFlags,
  environment: NodeJS.ProcessEnv,
): Pick<Target, 'token' | 'source'> {
  const file = environment[fileVariableOf(settings.adminToken)];
  const given =
    flags.token ??
    environment.MCP_AGGREGATOR_TOKEN ??
    environment[settings.adminToken.env] ??
    (file === undefined ? undefined : readIfThere(file)?.trim());
  if (given !== undefined) return { source: 'given', token: async () => given };
  if (findSignIn(dataDir, url) !== undefined) return { source: 'sign-in', token: () => tokenOf(dataDir, url) };
  // The token in the data directory must not be sent to an aggregator on another host.
  const isHere = isLoopback(new URL(url).hostname);
  const token = isHere ? readIfThere(join(dataDir, 'admin-token'))?.trim() : undefined;
  return { source: token === undefined ? undefined : 'data directory', token: async () => token };
}

export function dataDirOf(flags: TargetFlags, environment: NodeJS.ProcessEnv): string {
  const given = flags.dataDir ?? environment[settings.dataDir.env];
  return given === undefined || given === '' ? settings.dataDir.default : settings.dataDir.parse(given);
}

/** Precedence: explicit settings, the address of a running aggregator, the default. */
function addressOf(dataDir: string, environment: NodeJS.ProcessEnv): string {
  const host = environment[settings.host.env];
  const port = environment[settings.port.env];
  const configured = host !== undefined || (port !== undefined && port !== '0');
  const written = configured ? undefined : readIfThere(join(dataDir, 'address.json'));
  const url = written === undefined ? undefined : urlIn(written);
  return reachable(url ?? `http://${bracketed(host ?? settings.host.default)}:${port ?? settings.port.default}`);
}

/** Checks the process, because the file remains after a crash and another program may use the port. */
function urlIn(text: string): string | undefined {
  const { url, pid } = JSON.parse(text) as { url?: unknown; pid?: unknown };
  return typeof url === 'string' && typeof pid === 'number' && isAlive(pid) ? url : undefined;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // owned by another user, but alive
  }
}

/** Wildcard addresses are for listening only; a client uses loopback. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new CommandFailure(
      'denied',
      `${path} cannot be read (${code}); use --token, or run the command as the owner of the file`,
      {
        cause: error,
      },
    );
  }
}
