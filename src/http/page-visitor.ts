/** The user of a login or key page: identified by a cookie, by the dashboard's session, or by a link made for one user. */
import { AppError } from '../errors.ts';
import type { BrowserSessions } from '../oauth/browser-session.ts';
import { type PageGoal, pathOf, switchPage } from '../oauth/pages.ts';
import type { ResourceAuthenticator } from '../oauth/request-authenticator.ts';
import type { Principal } from '../security/auth.ts';
import type { AuthenticationThrottle } from '../security/authentication-throttle.ts';
import { isFromHere, type PageContext, show } from './page.ts';

export interface VisitorDependencies {
  sessions: BrowserSessions;
  throttle: AuthenticationThrottle;
  requestAuthenticator: ResourceAuthenticator;
}

/** The user of the login pages, or of the dashboard, whose session arrives as a token. */
export async function visitorOf(deps: VisitorDependencies, context: PageContext): Promise<Principal | undefined> {
  const { sessions } = deps;
  const { request, reply, authorization } = context;
  const known = sessions.find(request.headers.cookie);
  if (known !== undefined || authorization === undefined) return known;
  const principal = await identify(deps, authorization, context);
  if (principal === undefined) return undefined;
  reply.header('set-cookie', sessions.cookieFor(principal));
  return principal;
}

/** A link to a page signs its reader in, once, and asks before it replaces the user who is signed in. */
export async function redeemLink(
  deps: VisitorDependencies,
  context: PageContext,
  goal: PageGoal,
  ticket: string,
): Promise<unknown> {
  const { sessions } = deps;
  const now = await visitorOf(deps, context);
  const then = sessions.readTicket(ticket);
  if (now !== undefined && then !== undefined && now.id !== then.id)
    return show(context, switchPage(goal, ticket, now.name, then.name));
  const guest = isFromHere(context) ? await sessions.redeemTicket(ticket) : undefined;
  if (guest !== undefined) context.reply.header('set-cookie', sessions.cookieFor(guest));
  // Redirect, so that the used ticket does not stay in the browser's history.
  return context.reply.redirect(pathOf(goal), 303);
}

/** Undefined if the session has ended; the sign-in page is shown then. */
async function identify(
  { throttle, requestAuthenticator }: VisitorDependencies,
  authorization: string,
  { request, address }: PageContext,
): Promise<Principal | undefined> {
  const path = request.url.split('?')[0] ?? '';
  const given = { authorization, loopbackListener: false, path };
  try {
    return await throttle.check(
      address,
      () => requestAuthenticator.authenticate(given),
      ({ id }) => id,
    );
  } catch (error) {
    if (error instanceof AppError && error.code === 'UNAUTHENTICATED') return undefined;
    throw error;
  }
}
