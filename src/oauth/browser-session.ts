/**
 * The user of a browser. A login to a server is bound to the user who asked for it. Otherwise a user could send their
 * own link to a colleague and use the server with the colleague's account.
 */
import { createHash } from 'node:crypto';
import type { Principal } from '../security/auth.ts';
import type { SealedTickets } from './sealed-tickets.ts';

export interface BrowserSessions {
  /**
   * A link that signs its reader in, once. Only if we listen on this machine alone: the person who can open it there is
   * the one who asked for it.
   */
  createTicket(principal: Principal): string;
  redeemTicket(ticket: string): Promise<Principal | undefined>;
  /** Whom it would sign in; it stays good. */
  readTicket(ticket: string): Principal | undefined;
  cookieFor(principal: Principal): string;
  /** Takes the cookie back. */
  endCookie(): string;
  find(cookieHeader: string | undefined): Principal | undefined;
  /** Proof that a form was made for this person and this purpose. */
  createFormKey(principal: Principal, purpose: string): string;
  isFormKey(key: string | null, principal: Principal, purpose: string): boolean;
}

interface BrowserSessionOptions {
  tickets: SealedTickets;
  /** True for the first who asks, at whichever replica. */
  spend: (pass: { id: string; expires: number }) => Promise<boolean>;
  /** Cookies are bound to https where we are reached by it. */
  isSecure: () => boolean;
}

const ticketLifetimeMs = 600_000;
const sessionLifetimeMs = 8 * 3_600_000;
const formLifetimeMs = 1_800_000;

export function createBrowserSessions({ tickets, spend, isSecure }: BrowserSessionOptions): BrowserSessions {
  const cookieName = () => (isSecure() ? '__Host-mcp-aggregator' : 'mcp-aggregator');

  function toCookie(value: string, maxAge: number): string {
    const secure = isSecure() ? '; Secure' : '';
    // Lax: the authorization server sends the browser back to us by a link.
    return `${cookieName()}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure}`;
  }

  return {
    createTicket: (principal) => tickets.issue(principal, ticketLifetimeMs, 'oauth-ticket'),
    readTicket: (ticket) => tickets.open(ticket, 'oauth-ticket')?.principal,
    async redeemTicket(ticket) {
      const opened = tickets.open(ticket, 'oauth-ticket');
      return opened !== undefined && (await spend(opened)) ? opened.principal : undefined;
    },
    cookieFor: (principal) =>
      toCookie(tickets.issue(principal, sessionLifetimeMs, 'browser-session'), sessionLifetimeMs / 1_000),
    endCookie: () => toCookie('', 0),
    find(cookieHeader) {
      const name = `${cookieName()}=`;
      const value = cookieHeader?.split(/;\s*/).find((part) => part.startsWith(name));
      return value === undefined ? undefined : tickets.open(value.slice(name.length), 'browser-session')?.principal;
    },
    createFormKey: (principal, purpose) => tickets.issue(principal, formLifetimeMs, formContext(purpose)),
    isFormKey: (key, principal, purpose) =>
      key !== null && tickets.open(key, formContext(purpose))?.principal.id === principal.id,
  };
}

function formContext(purpose: string): string {
  return `form:${createHash('sha256').update(purpose).digest('hex')}`;
}
