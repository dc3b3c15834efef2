/**
 * Sealed statements about the identity of a user: cookies of the login pages, tickets, form keys, and the tokens behind
 * the dashboard sessions of an identity provider's people. They open at every replica, because all have the same key.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import type { Principal } from '../security/auth.ts';
import type { Vault } from '../security/credentials.ts';
import { mappingOf } from './identity-claims.ts';

export interface SealedTickets {
  issue(principal: Principal, lifetimeMs: number, purpose: string): string;
  /** Undefined if it is not sealed by this aggregator, has another purpose, is expired, or its user lost access. */
  open(sealed: string, purpose: string): SealedTicket | undefined;
}

interface SealedTicket {
  id: string;
  principal: Principal;
  expires: number;
}

interface SealedTicketOptions {
  vault: Vault;
  config: Config;
  /** The principal as it is now; undefined where its token was revoked or expired. */
  findPrincipal: (id: string) => Principal | undefined;
  /** The identity provider, or an admin, ended the account. */
  isEnded: (id: string) => boolean;
}

const content = z.object({
  id: z.string(),
  principal: z.string(),
  expires: z.number(),
  /** Of an identity provider's people, whom we do not keep. */
  person: z
    .object({
      name: z.string(),
      role: z.enum(['admin', 'caller', 'viewer']),
      profile: z.string().nullable().default(null),
      rules: z.string(),
    })
    .optional(),
});

export function createSealedTickets(options: SealedTicketOptions): SealedTickets {
  const { vault, config, findPrincipal } = options;
  const rules = mappingOf(config);

  return {
    issue({ id, name, role, profile }, lifetimeMs, purpose) {
      const person = findPrincipal(id) === undefined ? { name, role, profile, rules } : undefined;
      return vault.seal({ id: randomUUID(), principal: id, expires: Date.now() + lifetimeMs, person }, purpose);
    },
    open(sealed, purpose) {
      const { data } = content.safeParse(unseal(vault, sealed, purpose));
      if (data === undefined || data.expires < Date.now()) return undefined;
      const { id, expires, person } = data;
      if (person === undefined) {
        const principal = findPrincipal(data.principal);
        return principal && { id, principal, expires };
      }
      if (person.rules !== rules) return undefined;
      if (options.isEnded(data.principal)) return undefined;
      const { name, role, profile } = person;
      return { id, principal: { id: data.principal, name, role, servers: null, profile }, expires };
    },
  };
}

function unseal(vault: Vault, sealed: string, purpose: string): unknown {
  try {
    return vault.open(sealed, purpose);
  } catch (error) {
    if (error instanceof AppError) return undefined; // anybody can send us anything
    throw error;
  }
}
