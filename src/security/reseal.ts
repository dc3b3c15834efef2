/** Rotation of the credential key: everything that is sealed with the previous key is sealed with the current one. */
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Vault } from './credentials.ts';

/** One place where sealed values are stored. */
export interface SealedStore {
  name: string;
  find(): Promise<SealedValue[]>;
  /** Only where the value is still the one that was read: somebody may have stored another meanwhile. */
  replace(id: string, before: string, after: string): Promise<boolean>;
}

interface SealedValue {
  id: string;
  /** What the value was sealed for; see `Vault.seal`. */
  context: string;
  sealed: string;
}

interface ResealReport {
  /** Sealed with the current key now, those of before included. */
  current: number;
  resealed: number;
  /** Changed by somebody else in the same moment; the next round looks again. */
  left: number;
  /** Neither key opens them, or they are no sealed values. */
  unreadable: string[];
}

export interface Resealer {
  run(): Promise<ResealReport>;
  close(): Promise<void>;
}

/** A replica that still has the keys the other way round may seal something with the old one until it is restarted. */
const againAfterMs = 30_000;

export function createResealer({
  vault,
  stores,
  log,
}: {
  vault: Vault;
  stores: readonly SealedStore[];
  log: Logger;
}): Resealer {
  let running: Promise<ResealReport> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  function run(): Promise<ResealReport> {
    running ??= reseal(vault, stores).finally(() => {
      running = undefined;
    });
    return running;
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
      await running?.catch(() => undefined); // told when it failed
    },
  };
}

async function reseal(vault: Vault, stores: readonly SealedStore[]): Promise<ResealReport> {
  const report: ResealReport = { current: 0, resealed: 0, left: 0, unreadable: [] };
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

/** The value itself where its seal is of the current key, undefined where nobody can read it. */
function sealAgain(vault: Vault, sealed: string, context: string): string | undefined {
  try {
    if (!vault.needsReseal(sealed)) return sealed;
    return vault.seal(vault.open(sealed, context), context);
  } catch (error) {
    // One value that can't be read must not keep the others from being sealed.
    if (error instanceof AppError && error.code === 'CREDENTIAL_UNREADABLE') return undefined;
    throw error;
  }
}
