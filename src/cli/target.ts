/** Finds the aggregator and the token that a command uses. */
import { join } from 'node:path';
import { fileVariableOf } from '../config/config.ts';
import { settings } from '../config/settings.ts';
import { isLoopback } from '../loopback.ts';
import { identityKeyFile, proveRequest } from '../security/identity.ts';
import { CommandFailure } from './exit-code.ts';
import { identify, strangerAt } from './identity.ts';
import { readIfThere } from './read-if-there.ts';
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
  /** Proves to the aggregator of the data directory that this command can read the directory. */
  prove?(request: { path: string; body: string }): Promise<string | undefined>;
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
  const plain = url.replace(/\/+$/, '');
  const isOwn = identifyOnce(plain, dataDir);
  return {
    url: plain,
    dataDir,
    ...tokenFor(plain, dataDir, isOwn, flags, environment),
    prove: proveTo(plain, dataDir, isOwn),
  };
}

/** Asked when it is needed, because most commands do one thing. Only this host can have the data directory. */
function identifyOnce(url: string, dataDir: string): () => ReturnType<typeof identify> {
  let asked: ReturnType<typeof identify> | undefined;
  return () => {
    asked ??= isLoopback(new URL(url).hostname) ? identify(url, dataDir) : Promise.resolve('stranger');
    return asked;
  };
}

function proveTo(url: string, dataDir: string, isOwn: () => ReturnType<typeof identify>): NonNullable<Target['prove']> {
  return async (request) => {
    if (!isLoopback(new URL(url).hostname) || (await isOwn()) !== 'own') return undefined;
    const key = readIfThere(join(dataDir, identityKeyFile))?.trim();
    return key === undefined ? undefined : proveRequest(key, request);
  };
}

function tokenFor(
  url: string,
  dataDir: string,
  isOwn: () => ReturnType<typeof identify>,
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
  if (token === undefined) return { source: undefined, token: async () => undefined };
  return { source: 'data directory', token: ownToken(token, url, dataDir, isOwn) };
}

/** Not to another program on this host either. Where none listens, the request itself reports it. */
function ownToken(
  token: string,
  url: string,
  dataDir: string,
  isOwn: () => ReturnType<typeof identify>,
): Target['token'] {
  return async () => {
    const verdict = await isOwn();
    if (verdict === 'stranger') throw strangerAt(url, dataDir);
    return verdict === 'own' ? token : undefined;
  };
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
