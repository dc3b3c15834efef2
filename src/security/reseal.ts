/** Rotation of the credential key: seals values of the previous key with the current key. */
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Vault } from './credentials.ts';

/** One place where sealed values are stored. */
export interface SealedStore {
  name: string;
  find(): Promise<SealedValue[]>;
  /** Updates only if the value is unchanged since it was read. */
  replace(id: string, before: string, after: string): Promise<boolean>;
}

interface SealedValue {
  id: string;
  /** The context of the seal; see `Vault.seal`. */
  context: string;
  sealed: string;
}

interface ResealReport {
  /** Values that are sealed with the current key, including earlier ones. */
  current: number;
  resealed: number;
  /** Changed concurrently; checked again in the next round. */
  left: number;
  /** Values that neither key opens, or that are not sealed. */
  unreadable: string[];
  /** The previous key sealed something before: it is the old one, and not the next one. */
  previousWasUsed: boolean;
}

/** The keys that were in use before the current one. */
export interface KeyHistory {
  find(): Promise<string[]>;
  add(keyId: string): Promise<void>;
}

export interface Resealer {
  run(): Promise<ResealReport>;
  close(): Promise<void>;
}

/** Repeated, because a replica with the old configuration may seal values with the old key until it restarts. */
const againAfterMs = 30_000;

interface ResealerDependencies {
  vault: Vault;
  stores: readonly SealedStore[];
  history: KeyHistory;
  log: Logger;
  /** Nothing is sealed with the previous key any more. */
  onComplete: () => void;
}

export function createResealer({ vault, stores, history, log, onComplete }: ResealerDependencies): Resealer {
  let running: Promise<ResealReport> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  function run(): Promise<ResealReport> {
    running ??= resealAll().finally(() => {
      running = undefined;
    });
    return running;
  }

  async function resealAll(): Promise<ResealReport> {
    const report = await reseal(vault, stores);
    const { previous } = vault.keyIds;
    if (previous === undefined) return report;
    if (report.resealed > 0) await history.add(previous);
    const previousWasUsed = (await history.find()).includes(previous);
    if (report.left === 0 && report.unreadable.length === 0) onComplete();
    return { ...report, previousWasUsed };
  }

  async function runInBackground(): Promise<void> {
    try {
      const report = await run();
      if (report.resealed > 0 || report.unreadable.length > 0) log.info(report, 'credentials sealed with the new key');
    } catch (error) {
      log.warn({ err: error }, 'could not seal credentials with the new key yet');
    }
    if (!closed) timer = setTimeout(runInBackground, againAfterMs).unref();
  }

  if (vault.keyIds.previous !== undefined) void runInBackground();
  return {
    run,
    async close() {
      closed = true;
      clearTimeout(timer);
      await running?.catch(() => undefined); // the failure was already logged
    },
  };
}

async function reseal(vault: Vault, stores: readonly SealedStore[]): Promise<ResealReport> {
  const report: ResealReport = { current: 0, resealed: 0, left: 0, unreadable: [], previousWasUsed: false };
  for (const store of stores) {
    for (const { id, context, sealed } of await store.find()) {
      const fresh = sealAgain(vault, sealed, context);
      if (fresh === sealed) report.current += 1;
      else if (fresh === undefined) report.unreadable.push(`${store.name} ${id}`);
      else if (await store.replace(id, sealed, fresh)) {
        report.resealed += 1;
        report.current += 1;
      } else report.left += 1;
    }
  }
  return report;
}

/** The unchanged value if it is sealed with the current key; undefined if it cannot be opened. */
function sealAgain(vault: Vault, sealed: string, context: string): string | undefined {
  try {
    if (!vault.needsReseal(sealed)) return sealed;
    return vault.seal(vault.open(sealed, context), context);
  } catch (error) {
    // An unreadable value must not prevent sealing the others.
    if (error instanceof AppError && error.code === 'CREDENTIAL_UNREADABLE') return undefined;
    throw error;
  }
}
