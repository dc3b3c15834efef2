/**
 * Sessions for the calls of modern clients on legacy servers, each used by one call at a time: a question on it can only
 * be that call's. The next call of the same client may come soon, and a session costs a process, so each waits a while.
 */
import { createHash } from 'node:crypto';
import type { Server } from '../registry/registry.ts';
import type { Caller } from '../routing/call.ts';
import type { Peer } from './peer.ts';

interface Lease {
  owner: NonNullable<Caller['owner']>;
  end(): void;
}

export interface SessionLeases {
  take(peer: Peer, server: Server): Lease;
  close(): void;
}

/** `idleMs`: how long a session waits for the next call. */
export function createSessionLeases(idleMs: number, release: (ownerKey: string) => Promise<void>): SessionLeases {
  /** By owner key: in use while undefined, else the timer that ends the session. */
  const leases = new Map<string, NodeJS.Timeout | undefined>();

  function firstFree(who: string): string {
    for (let number = 0; ; number += 1) {
      const key = `${who}#${number}`;
      if (!leases.has(key) || leases.get(key) !== undefined) return key;
    }
  }

  return {
    take({ principal, client }, server) {
      const digest = createHash('sha256').update(JSON.stringify(client.capabilities)).digest('hex').slice(0, 12);
      const key = firstFree(`modern:${principal.id}:${digest}@${server.id}`);
      clearTimeout(leases.get(key));
      leases.set(key, undefined);
      return {
        owner: { key, client, onNotification: () => undefined },
        end() {
          const timer = setTimeout(() => {
            leases.delete(key);
            void release(key);
          }, idleMs).unref();
          leases.set(key, timer);
        },
      };
    },
    close() {
      for (const timer of leases.values()) clearTimeout(timer);
    },
  };
}
