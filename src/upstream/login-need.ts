/**
 * A server that waits for a login, or for the keys of an admin: recorded where people see it, and looked at from time to time, because the login may be
 * made at another replica.
 */
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Registry, Server } from '../registry/registry.ts';
import type { LinkEvent } from './link-state.ts';

interface LoginNeedCheck {
  /** Where the error asks for one. */
  record(error: unknown): void;
  clear(): void;
  stopPolling(): void;
}

interface LoginNeedOptions {
  /** The server's record as it is now. */
  current: () => Server;
  registry: Registry;
  log: Logger;
  isLoggedIn: ((server: Server) => Promise<boolean>) | undefined;
  advance: (event: LinkEvent) => void;
  /** Polling found a login. */
  onLoggedIn: () => void;
}

const pollMs = 15_000;

export function createLoginNeed(options: LoginNeedOptions): LoginNeedCheck {
  const { current, registry, log, isLoggedIn, advance, onLoggedIn } = options;
  let timer: NodeJS.Timeout | undefined;

  async function poll(): Promise<void> {
    const known = await isLoggedIn?.(current()).catch((error: unknown) => {
      log.warn({ server: current().name, err: error }, 'could not read the login state; retrying automatically');
      return false;
    });
    if (known === true) onLoggedIn();
  }

  return {
    record(error) {
      if (!needsLogin(error)) return;
      advance({ type: 'login_required', reason: error });
      // A change of the keys is heard of, at every replica.
      if (error.code === 'KEY_REQUIRED') return;
      registry.recordLogin(current().id, error.context?.login === 'expired' ? 'expired' : 'required');
      clearInterval(timer);
      timer = setInterval(() => void poll(), pollMs).unref();
    },
    clear() {
      advance({ type: 'logged_in' });
      clearInterval(timer);
      registry.recordLogin(current().id, null);
    },
    stopPolling: () => clearInterval(timer),
  };
}

/** A step up is one call's business: the connection works on without it. */
function needsLogin(error: unknown): error is AppError {
  if (!(error instanceof AppError)) return false;
  return error.code === 'KEY_REQUIRED' || (error.code === 'LOGIN_REQUIRED' && error.context?.step_up !== true);
}
