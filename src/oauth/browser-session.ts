/**
 * Who sits at the browser. A login to a server is bound to the person who asked for it: otherwise somebody could send
 * their own link to a colleague and use the server with the colleague's account.
 */
import { createHash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Principal } from '../security/auth.ts';
import type { Vault } from '../security/credentials.ts';

export interface BrowserSessions {
  /**
   * A link that signs its reader in, once. Only where we listen on this machine alone: whoever can open it there is
   * whoever asked for it.
   */
  createTicket(principal: Principal): string;
  redeemTicket(ticket: string): Principal | undefined;
  cookieFor(principal: Principal): string;
  find(cookieHeader: string | undefined): Principal | undefined;
  /** Proof that a form was made for this person and this purpose. */
  createFormKey(principal: Principal, purpose: string): string;
  isFormKey(key: string | null, principal: Principal, purpose: string): boolean;
}

export interface BrowserSessionOptions {
  vault: Vault;
  /** The principal as it is now; undefined where its token was revoked or expired. */
  findPrincipal: (id: string) => Principal | undefined;
  /** Cookies are bound to https where we are reached by it. */
  isSecure: () => boolean;
}

const ticketLifetimeMs = 600_000;
const sessionLifetimeMs = 8 * 3_600_000;
const formLifetimeMs = 1_800_000;

const pass = z.object({
  id: z.string(),
  principal: z.string(),
  expires: z.number(),
  /** Of an identity provider's people, whom we do not keep. */
  person: z.object({ name: z.string(), role: z.enum(['admin', 'caller', 'viewer']) }).optional(),
});

export function createBrowserSessions({ vault, findPrincipal, isSecure }: BrowserSessionOptions): BrowserSessions {
  const redeemed = new Map<string, number>();
  const cookieName = () => (isSecure() ? '__Host-mcp-aggregator' : 'mcp-aggregator');

  function issue({ id, name, role }: Principal, lifetimeMs: number, purpose: string): string {
    const person = findPrincipal(id) === undefined ? { name, role } : undefined;
    return vault.seal({ id: randomUUID(), principal: id, expires: Date.now() + lifetimeMs, person }, purpose);
  }

  function open(sealed: string, purpose: string): { id: string; principal: Principal } | undefined {
    let opened: unknown;
    try {
      opened = vault.open(sealed, purpose);
    } catch {
      return undefined; // not ours, or made for something else
    }
    const { id, principal: whose, expires, person } = pass.parse(opened);
    if (expires < Date.now()) return undefined;
    const principal =
      person === undefined ? findPrincipal(whose) : { id: whose, ...person, servers: null, profile: null };
    return principal && { id, principal };
  }

  return {
    createTicket: (principal) => issue(principal, ticketLifetimeMs, 'oauth-ticket'),
    redeemTicket(ticket) {
      const opened = open(ticket, 'oauth-ticket');
      const now = Date.now();
      for (const [id, until] of redeemed) if (until < now) redeemed.delete(id);
      if (opened === undefined || redeemed.has(opened.id)) return undefined;
      redeemed.set(opened.id, now + ticketLifetimeMs);
      return opened.principal;
    },
    cookieFor(principal) {
      const value = issue(principal, sessionLifetimeMs, 'browser-session');
      const secure = isSecure() ? '; Secure' : '';
      // Lax: the authorization server sends the browser back to us by a link.
      return `${cookieName()}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${sessionLifetimeMs / 1_000}${secure}`;
    },
    find(cookieHeader) {
      const name = `${cookieName()}=`;
      const value = cookieHeader?.split(/;\s*/).find((part) => part.startsWith(name));
      return value === undefined ? undefined : open(value.slice(name.length), 'browser-session')?.principal;
    },
    createFormKey: (principal, purpose) => issue(principal, formLifetimeMs, formContext(purpose)),
    isFormKey: (key, principal, purpose) =>
      key !== null && open(key, formContext(purpose))?.principal.id === principal.id,
  };
}

function formContext(purpose: string): string {
  return `form:${createHash('sha256').update(purpose).digest('hex')}`;
}
