/** Who is signed in to which aggregator, in a file that only its owner can read; their tokens, refreshed in time. */
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { CommandFailure } from './exit-code.ts';

const signedIn = z.object({
  issuer: z.object({
    issuer: z.string(),
    token_endpoint: z.string().optional(),
    revocation_endpoint: z.string().optional(),
  }),
  client_id: z.string(),
  resource: z.string(),
  access_token: z.string(),
  refresh_token: z.string().optional(),
  /** Null where the provider did not say. */
  expires_at: z.string().nullable(),
  refresh_at: z.string().nullable(),
});
export type SignedIn = z.infer<typeof signedIn>;

const content = z.record(z.string(), signedIn);

export const signInsFile = (dataDir: string) => join(dataDir, 'sign-ins.json');

export function findSignIn(dataDir: string, url: string): SignedIn | undefined {
  return read(dataDir)[keyOf(url)];
}

/** Undefined forgets. */
export async function saveSignIn(dataDir: string, url: string, changed: SignedIn | undefined): Promise<void> {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  await locked(dataDir, async () => write(dataDir, url, changed));
}

/** The access token, refreshed where that is due, by one command at a time: providers take a refresh token once. */
export async function tokenOf(dataDir: string, url: string): Promise<string> {
  const known = findSignIn(dataDir, url);
  if (known === undefined) throw ended(url);
  if (!isPast(known.refresh_at)) return known.access_token;
  return await locked(dataDir, async () => {
    const current = findSignIn(dataDir, url);
    if (current === undefined) throw ended(url);
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

async function renew(url: string, current: SignedIn): Promise<SignedIn> {
  // Only now: most commands need none of it.
  const { refresh } = await import('./identity-provider.ts');
  try {
    return await refresh(current);
  } catch (error) {
    if (error instanceof CommandFailure && error.exit === 'denied') throw ended(url, error);
    // The provider is away: what still works is used on, and the next command tries again.
    if (!isPast(current.expires_at)) return current;
    throw error;
  }
}

function ended(url: string, cause?: unknown): CommandFailure {
  return new CommandFailure(
    'denied',
    `Your sign-in to ${url} has ended. Sign in again with: mcp-aggregator sign-in\nOr use your token instead, after: mcp-aggregator sign-out`,
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
  const parsed = content.safeParse(tryParse(text));
  if (parsed.success) return parsed.data;
  throw new CommandFailure('usage', `${file} is damaged; remove it and sign in again`, { cause: parsed.error });
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // said to be damaged
  }
}

/** Whole or not at all. */
function write(dataDir: string, url: string, changed: SignedIn | undefined): void {
  const { [keyOf(url)]: _before, ...others } = read(dataDir);
  const next = changed === undefined ? others : { ...others, [keyOf(url)]: changed };
  const file = signInsFile(dataDir);
  rmSync(`${file}.new`, { force: true });
  writeFileSync(`${file}.new`, `${JSON.stringify(next, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

const lockPollMs = 50;
/** Longer than anything that is done under the lock may take; whoever held it is gone. */
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
