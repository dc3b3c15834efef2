/** Ends the logins that nothing needs any more: of removed or moved servers, and of principals that ended. */
import type { Changes } from '../changes.ts';
import type { Logger } from '../log.ts';
import type { Registry } from '../registry/registry.ts';
import type { Database } from '../store/database.ts';
import { deleteOauthServer, findOauthLogins } from '../store/oauth.ts';
import type { OauthLoginRow } from '../store/schema.ts';
import type { DiscoveryCache } from './discovery-cache.ts';
import { type GuardedFetch, type Trust, trustIn } from './guarded-fetch.ts';
import { loginOf, toTarget } from './login-target.ts';
import type { MachineTokens } from './machine-tokens.ts';
import { isMadeFor } from './refusals.ts';
import type { TokenCache } from './token-cache.ts';
import { revokeTokens } from './token-endpoint.ts';

interface LoginCleanup {
  /** Forgets a login, here and at its issuer; only the address that is sealed with the tokens is trusted by default. */
  drop(row: OauthLoginRow, trust?: Trust): Promise<void>;
  close(): Promise<void>;
}

interface LoginCleanupDependencies {
  db: Database;
  registry: Registry;
  changes: Changes;
  log: Logger;
  fetch: GuardedFetch;
  cache: TokenCache;
  discoveries: DiscoveryCache;
  machines: MachineTokens;
  /** The principal's token was revoked or has expired. */
  isEnded: (principal: string) => boolean;
  onDropped: (key: string) => void;
}

export async function createLoginCleanup(deps: LoginCleanupDependencies): Promise<LoginCleanup> {
  const { db, registry, changes, log, fetch, cache, discoveries, machines } = deps;
  const pending = new Set<Promise<unknown>>();

  await tidy();
  const offs = [
    changes.subscribe('server.removed', ({ server_id }) => track(forget(server_id))),
    changes.subscribe('principal.ended', ({ principal_id, suspended }) => {
      if (suspended !== true) track(forgetPrincipal(principal_id));
    }),
    changes.subscribe('server.updated', ({ server_id }) => {
      discoveries.forget(server_id);
      track(dropMoved(server_id));
    }),
  ];

  /** At the start: what belongs to removed servers and to principals that ended goes. */
  async function tidy(): Promise<void> {
    for (const row of await findOauthLogins(db)) {
      if (registry.find(row.server_id) === undefined) track(forget(row.server_id));
      else if (deps.isEnded(row.principal)) track(drop(row));
    }
  }

  function track(task: Promise<unknown>): void {
    const kept = task
      .catch((error: unknown) => log.warn({ err: error }, 'could not revoke tokens'))
      .finally(() => pending.delete(kept));
    pending.add(kept);
  }

  /** The server is gone. */
  async function forget(serverId: string): Promise<void> {
    const rows = (await findOauthLogins(db)).filter((row) => row.server_id === serverId);
    await deleteOauthServer(db, serverId);
    machines.forget(serverId);
    discoveries.forget(serverId);
    for (const row of rows) await drop(row);
  }

  async function forgetPrincipal(principal: string): Promise<void> {
    // At once, also where another replica was first to delete the rows.
    cache.forgetPrincipal(principal);
    for (const row of await findOauthLogins(db)) if (row.principal === principal) await drop(row);
  }

  /** The server has another address or another issuer: what was made for the old one is of no use. */
  async function dropMoved(serverId: string): Promise<void> {
    const server = registry.find(serverId);
    const rows = (await findOauthLogins(db)).filter((row) => row.server_id === serverId && row.sealed !== null);
    if (server === undefined || rows.length === 0) return;
    const { connection } = await registry.resolveConnection(serverId);
    const made = toTarget(server, connection, '');
    for (const row of rows) {
      const tokens = cache.tokensIn(row);
      if (tokens !== undefined && (made === undefined || !isMadeFor(tokens, made))) await drop(row);
    }
  }

  async function drop(row: OauthLoginRow, trust?: Trust): Promise<void> {
    const tokens = await cache.drop(row);
    deps.onDropped(loginOf({ id: row.server_id }, row.principal).key);
    if (tokens === undefined) return;
    const endpoint = { issuer: tokens.issuer, client: tokens.client, trust: trust ?? trustIn([tokens.server_url]) };
    await revokeTokens(fetch, endpoint, tokens);
    log.info({ server_id: row.server_id }, 'tokens revoked');
  }

  return {
    drop,
    async close() {
      for (const off of offs) off();
      await Promise.all(pending);
    },
  };
}
