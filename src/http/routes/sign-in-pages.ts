/** Signing in to the login pages with a token, or to them and the dashboard with the identity provider. */
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import type { BrowserSessions } from '../../oauth/browser-session.ts';
import type { OurClients } from '../../oauth/client-registration.ts';
import { noRefreshToken } from '../../oauth/device-sign-in.ts';
import { type PageGoal, pathOf } from '../../oauth/pages.ts';
import type { ResourceAuthenticator } from '../../oauth/request-authenticator.ts';
import type { Goal, SignIn } from '../../oauth/sign-in.ts';
import type { Authenticator, Principal } from '../../security/auth.ts';
import type { AuthenticationThrottle } from '../../security/authentication-throttle.ts';
import { isOwnPage, type PageSessions } from '../../security/page-session.ts';
import { asPage, isFromHere, show } from '../page.ts';
import { type AnyRoute, route } from '../route.ts';
import type { AskWho } from './login-pages.ts';

export interface SignInPageDependencies {
  sessions: BrowserSessions;
  /** Of the dashboard. */
  pageSessions: PageSessions;
  authenticator: Authenticator;
  throttle: AuthenticationThrottle;
  ours: OurClients;
  requestAuthenticator: ResourceAuthenticator;
  signIn: SignIn | undefined;
}

const idOf = ({ id }: Principal) => id;
const toDashboard = { href: '/', text: 'Back to the dashboard' };

export function signInPageRoutes(deps: SignInPageDependencies, askWho: AskWho): AnyRoute[] {
  const { sessions, authenticator, throttle } = deps;
  return [
    route({
      method: 'POST',
      path: '/oauth/sign-in',
      tag: 'login pages',
      summary: 'Sign in to the login pages with a token',
      role: 'public',
      answers: { 303: { description: 'Redirect to the requested page' } },
      handle: (context) =>
        asPage(context, async () => {
          const { request, reply } = context;
          // Login CSRF: another page, even on another port, must not sign a user in to an account of its choice.
          if (request.headers.origin !== undefined && !isOwnPage(request)) {
            throw new AppError('ORIGIN_NOT_ALLOWED', 'Requests from other pages cannot sign in');
          }
          const form = new URLSearchParams(String(request.body));
          const goal: PageGoal = {
            page: form.get('page') === 'keys' ? 'keys' : 'login',
            server: form.get('next') ?? '',
          };
          const ticket = form.get('ticket');
          if (ticket !== null) {
            const guest = isFromHere(context) ? await sessions.redeemTicket(ticket) : undefined;
            if (guest !== undefined) reply.header('set-cookie', sessions.cookieFor(guest));
            return reply.redirect(pathOf(goal), 303);
          }
          try {
            const authorization = `Bearer ${form.get('token') ?? ''}`;
            const principal = await throttle.check(
              context.address,
              () => authenticator.authenticate({ authorization, loopbackListener: false }),
              idOf,
            );
            reply.header('set-cookie', sessions.cookieFor(principal));
          } catch (error) {
            if (!(error instanceof AppError)) throw error;
            if (error.code === 'RATE_LIMITED') throw error;
            return show(context, askWho(goal, error.message), 401);
          }
          return reply.redirect(pathOf(goal), 303);
        }),
    }),

    route({
      method: 'GET',
      path: '/oauth/sign-in',
      tag: 'login pages',
      summary: 'Sign in with the identity provider, to the dashboard or to the login page of a server',
      role: 'public',
      query: z.object({
        next: z.string().optional().describe('the server to log in to afterwards; without it, the dashboard'),
        keys: z.string().optional().describe('the server to enter keys for afterwards'),
        lasting: z
          .literal('1')
          .optional()
          .describe('asks for access that the aggregator can check, which tokens of your own require'),
        place: z.string().default('').describe('the page of the dashboard to open afterwards'),
        moved: z.literal('1').optional().describe('set by the aggregator'),
      }),
      answers: { 303: { description: 'Redirect to the identity provider' } },
      handle: (context) =>
        asPage(
          context,
          async () => {
            const { query, request, reply } = context;
            if (deps.signIn === undefined) throw new AppError('NOT_FOUND', 'No identity provider is configured');
            const { origin, host } = new URL(deps.ours.everywhere().redirectUri);
            // The cookie must be set on the host that the identity provider redirects back to.
            if (request.headers.host !== host && query.moved === undefined) {
              return reply.redirect(`${origin}/oauth/sign-in?${new URLSearchParams({ ...query, moved: '1' })}`, 303);
            }
            const { page, cookie } = await deps.signIn.begin(toGoal(query));
            return reply.header('set-cookie', cookie).redirect(page, 303);
          },
          toDashboard,
        ),
    }),

    route({
      method: 'GET',
      path: '/oauth/sign-in/callback',
      tag: 'login pages',
      summary: 'Redirect URI for the identity provider',
      role: 'public',
      answers: { 303: { description: 'Redirect to the requested page' } },
      handle: (context) =>
        asPage(
          context,
          async () => {
            const { request, reply } = context;
            if (deps.signIn === undefined) throw new AppError('NOT_FOUND', 'No identity provider is configured');
            const { searchParams } = new URL(request.url, 'http://localhost');
            const finished = await deps.signIn.finish(searchParams, request.headers.cookie);
            if ('again' in finished)
              return reply.header('set-cookie', finished.again.cookie).redirect(finished.again.page, 303);
            const { principal, goal, cookie, lifetimeMs } = finished;
            if ('program' in goal && lifetimeMs !== undefined) throw noRefreshToken(deps.signIn.issuer);
            if (!('place' in goal)) {
              reply.header('set-cookie', [cookie, sessions.cookieFor(principal)]);
              return reply.redirect(pageOf(goal), 303);
            }
            // Browsers send no SameSite=Strict cookie while they follow a redirect of another site, so the dashboard
            // redeems a one-time code, as with any sign-in link.
            const { code } = await deps.pageSessions.createCode(
              deps.requestAuthenticator.tokenFor(principal, lifetimeMs),
            );
            reply.header('set-cookie', cookie);
            return reply.redirect(`/#/sign-in?${new URLSearchParams({ code, place: goal.place })}`, 303);
          },
          toDashboard,
        ),
    }),
  ];
}

function toGoal({ next, keys, place, lasting }: { next?: string; keys?: string; place: string; lasting?: '1' }): Goal {
  if (next !== undefined) return { server: next };
  return keys === undefined ? { place, lasting: lasting === '1' } : { keys };
}

function pageOf(goal: Exclude<Goal, { place: string }>): string {
  if ('server' in goal) return pathOf({ page: 'login', server: goal.server });
  if ('keys' in goal) return pathOf({ page: 'keys', server: goal.keys });
  return `/oauth/program/confirm?${new URLSearchParams({ request: goal.program })}`;
}
