/** Stores sign-ins to aggregators in a file that only its owner can read, and refreshes their tokens. */
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { AggregatorSession } from './aggregator-sign-in.ts';
import { CommandFailure } from './exit-code.ts';

/** A session with the aggregator; without one, tokens of its identity provider. */
export type SignedIn = AggregatorSession | ProviderSignIn;

export interface ProviderSignIn {
  issuer: { issuer: string; token_endpoint?: string; revocation_endpoint?: string };
  client_id: string;
  resource: string;
  access_token: string;
  refresh_token?: string;
  /** Null if the provider did not return it. */
  expires_at: string | null;
  refresh_at: string | null;
}

const signInsFile = (dataDir: string) => join(dataDir, 'sign-ins.json');

export function findSignIn(dataDir: string, url: string): SignedIn | undefined {
  return read(dataDir)[keyOf(url)];
}

/** Undefined deletes the sign-in. */
export async function saveSignIn(dataDir: string, url: string, changed: SignedIn | undefined): Promise<void> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  await locked(dataDir, async () => write(dataDir, url, changed));
}

/** The access token, refreshed if needed, by one command at a time, because providers accept a refresh token once. */
export async function tokenOf(dataDir: string, url: string): Promise<string> {
  const known = findSignIn(dataDir, url);
  if (known === undefined) throw ended(url);
  if ('token' in known) {
    if (isPast(known.expires_at)) throw ended(url);
    return known.token;
  }
  if (!isPast(known.refresh_at)) return known.access_token;
  return await locked(dataDir, async () => {
    const current = findSignIn(dataDir, url);
    if (current === undefined) throw ended(url);
    if ('token' in current) return current.token;
    if (!isPast(current.refresh_at)) return current.access_token;
    if (current.refresh_token === undefined) {
      if (isPast(current.expires_at)) throw ended(url);
      return current.access_token;
    }
    const fresh = await renew(url, current);
    write(dataDir, url, fresh);
    return fresh.access_token;
  });
}

async function renew(url: string, current: ProviderSignIn): Promise<ProviderSignIn> {
  // Loaded lazily, because most commands do not need it.
  const { refresh } = await import('./identity-provider.ts');
  try {
    return await refresh(current);
  } catch (error) {
    if (error instanceof CommandFailure && error.exit === 'denied') throw ended(url, error);
    // The provider is unavailable: keep using the current token; the next command retries.
    if (!isPast(current.expires_at)) return current;
    throw error;
  }
}

function ended(url: string, cause?: unknown): CommandFailure {
  return new CommandFailure(
    'denied',
    `Your sign-in to ${url} has expired. Sign in again: mcp-aggregator sign-in\nTo use a token instead, sign out first: mcp-aggregator sign-out`,
    { cause },
  );
}

const isPast = (time: string | null) => time !== null && Date.parse(time) <= Date.now();
const keyOf = (url: string) => new URL(url).href.replace(/\/+$/, '');

function read(dataDir: string): Record<string, SignedIn> {
  const file = signInsFile(dataDir);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new CommandFailure('denied', `${file} cannot be read (${(error as NodeJS.ErrnoException).code})`, {
      cause: error,
    });
  }
  try {
    // Not validated, because only this module writes the file.
    return JSON.parse(text) as Record<string, SignedIn>;
  } catch (cause) {
    throw new CommandFailure('usage', `${file} is damaged; remove it and sign in again`, { cause });
  }
}

/** Writes atomically. */
function write(dataDir: string, url: string, changed: SignedIn | undefined): void {
  const { [keyOf(url)]: _before, ...others } = read(dataDir);
  const next = changed === undefined ? others : { ...others, [keyOf(url)]: changed };
  const file = signInsFile(dataDir);
  rmSync(`${file}.new`, { force: true });
  writeFileSync(`${file}.new`, `${JSON.stringify(next, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

const lockPollMs = 50;
/** Longer than any work under the lock; an older lock was left by a process that ended. */
const lockLifetimeMs = 30_000;

async function locked<Result>(dataDir: string, task: () => Promise<Result>): Promise<Result> {
  const lock = `${signInsFile(dataDir)}.lock`;
  while (!take(lock)) await delay(lockPollMs);
  try {
    return await task();
  } finally {
    rmSync(lock, { force: true });
  }
}

function take(lock: string): boolean {
  try {
    closeSync(openSync(lock, 'wx', 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
  if (since !== undefined && Date.now() - since > lockLifetimeMs) rmSync(lock, { force: true });
  return false;
}
