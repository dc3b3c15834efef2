/** Logging in to servers: the REST calls, and the pages that a browser goes through. */
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { isLoopback } from '../../loopback.ts';
import type { BrowserSessions } from '../../oauth/browser-session.ts';
import { clientDocument, type OurClients } from '../../oauth/client-registration.ts';
import type { LoginFlow } from '../../oauth/flow.ts';
import { isPerPrincipal } from '../../oauth/login-target.ts';
import type { Logins } from '../../oauth/logins.ts';
import { consentPage, donePage, pageHeaders, problemPage, signInPage, switchPage } from '../../oauth/pages.ts';
import type { ResourceAuthenticator } from '../../oauth/request-authenticator.ts';
import type { SignIn } from '../../oauth/sign-in.ts';
import type { Registry, Server } from '../../registry/registry.ts';
import type { Audit } from '../../security/audit.ts';
import type { Authenticator, Principal } from '../../security/auth.ts';
import type { AuthenticationThrottle } from '../../security/authentication-throttle.ts';
import { isOwnPage, type PageSessions } from '../../security/page-session.ts';
import type { Fleet } from '../../upstream/fleet.ts';
import { type AnyRoute, type RouteContext, route } from '../route.ts';
import { lookUpServer, type ViewOf } from '../view.ts';

export interface OauthRouteDependencies {
  registry: Registry;
  logins: Logins;
  flow: LoginFlow;
  sessions: BrowserSessions;
  /** Of the dashboard. */
  pageSessions: PageSessions;
  authenticator: Authenticator;
  throttle: AuthenticationThrottle;
  audit: Audit;
  ours: OurClients;
  viewOf: ViewOf;
  loginLink: (server: Server, principal: Principal) => string;
  fleet: Fleet;
  requestAuthenticator: ResourceAuthenticator;
  signIn: SignIn | undefined;
}

type PageContext = Pick<RouteContext<unknown, unknown, unknown>, 'request' | 'reply' | 'address' | 'authorization'>;

const idOf = ({ id }: Principal) => id;
const base = '/api/v1/aggregator/servers';
const byId = z.object({ id: z.string().min(1).describe("the server's id or name") });
const byName = z.object({ server: z.string().min(1) });
const byIssuer = z.object({
  issuer: z
    .string()
    .regex(/^[0-9a-f]{24}$/)
    .describe('stands for the authorization server'),
});
const html = { description: 'A page', schema: z.string(), contentType: 'text/html' };
const loginView = z.object({
  server_id: z.string(),
  server: z.string(),
  state: z.enum(['active', 'required', 'expired']).nullable().describe('null: no login is known to be needed'),
  changed_at: z.string().nullable(),
  login_url: z.string().describe('the page where to log in'),
});

const knownLogin = z.object({
  server_id: z.string(),
  server: z.string(),
  principal: z.string().nullable().describe('null for a shared login'),
  principal_name: z.string().nullable(),
  state: z.enum(['active', 'required', 'expired']),
  issuer: z.string().nullable(),
  scope: z.string().nullable(),
  changed_at: z.string(),
});

export function oauthRoutes(deps: OauthRouteDependencies): AnyRoute[] {
  const { registry, logins, flow, sessions, authenticator, throttle, audit } = deps;

  const lookUp = (idOrName: string, principal: Principal) => lookUpServer(registry, deps.viewOf(principal), idOrName);

  /** A login that everybody uses is an admin's to make; one's own is one's own. */
  function mayLogIn(server: Server, principal: Principal): void {
    if (principal.role === 'admin' || (isPerPrincipal(server) && principal.role === 'caller')) return;
    throw new AppError(
      'FORBIDDEN',
      isPerPrincipal(server)
        ? `Logging in needs the role caller; ${principal.name} is ${principal.role}`
        : `The login to ${server.name} is shared by everybody, so an admin has to make it; ${principal.name} is ${principal.role}`,
    );
  }

  async function view(server: Server, principal: Principal): Promise<z.infer<typeof loginView>> {
    const found = await logins.state(server, principal.id);
    return {
      server_id: server.id,
      server: server.name,
      state: found?.state ?? null,
      changed_at: found?.updated_at ?? null,
      login_url: deps.loginLink(server, principal),
    };
  }

  function show({ reply }: PageContext, page: string, status = 200): unknown {
    return reply.status(status).headers(pageHeaders).type('text/html; charset=utf-8').send(page);
  }

  function askWho(next: string, problem?: string): string {
    const issuer = deps.signIn?.issuer;
    const href = `/oauth/sign-in?next=${encodeURIComponent(next)}`;
    return signInPage(next, problem, issuer === undefined ? undefined : { issuer, href });
  }

  /** Whoever is signed in to these pages, or to the dashboard, whose session came with the request as a token. */
  async function visitor({ request, reply, address, authorization }: PageContext): Promise<Principal | undefined> {
    const known = sessions.find(request.headers.cookie);
    if (known !== undefined || authorization === undefined) return known;
    const principal = await identified(authorization, request.url.split('?')[0] ?? '', address);
    if (principal === undefined) return undefined;
    reply.header('set-cookie', sessions.cookieFor(principal));
    return principal;
  }

  /** Undefined: a session that ended is a reason to ask who it is. */
  async function identified(authorization: string, path: string, address: string): Promise<Principal | undefined> {
    try {
      const request = { authorization, loopbackListener: false, path };
      return await throttle.check(address, () => deps.requestAuthenticator.authenticate(request), idOf);
    } catch (error) {
      if (error instanceof AppError && error.code === 'UNAUTHENTICATED') return undefined;
      throw error;
    }
  }

  /** Pages are for people: what goes wrong is shown to them, not to a program. */
  async function asPage(context: PageContext, make: () => Promise<unknown>, back?: typeof toDashboard) {
    try {
      return await make();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error.retryAfterSeconds !== undefined) context.reply.header('retry-after', String(error.retryAfterSeconds));
      return show(context, problemPage(error.message, back), error.status);
    }
  }

  const note = (event: string, server: Server, principal: Principal, address: string) =>
    audit.recordNow({
      event,
      actor: principal.name,
      ip_address: address,
      server_id: server.id,
      server_name: server.name,
      details: { credentials: isPerPrincipal(server) ? 'per_principal' : 'shared' },
    });

  return [
    ...resourcePaths.map((path) => resourceRoute(path, deps.requestAuthenticator)),

    route({
      method: 'POST',
      path: `${base}/{id}/login`,
      tag: 'servers',
      summary: 'A link to the page where to log in to a server (OAuth)',
      role: 'caller',
      params: byId,
      answers: { 200: { description: 'The link', schema: loginView }, 404: { description: 'There is no such server' } },
      async handle({ params, principal }) {
        const server = lookUp(params.id, principal);
        mayLogIn(server, principal);
        logins.target(server, principal.id);
        return await view(server, principal);
      },
    }),

    route({
      method: 'GET',
      path: `${base}/{id}/login`,
      tag: 'servers',
      summary: 'How the login to a server stands',
      role: 'viewer',
      params: byId,
      answers: {
        200: { description: 'Its state', schema: loginView },
        404: { description: 'There is no such server' },
      },
      handle: async ({ params, principal }) => await view(lookUp(params.id, principal), principal),
    }),

    route({
      method: 'DELETE',
      path: `${base}/{id}/login`,
      tag: 'servers',
      summary: 'Log out of a server: its tokens are revoked and forgotten',
      role: 'caller',
      params: byId,
      answers: { 204: { description: 'Logged out' }, 404: { description: 'There is no such server, or no login' } },
      async handle({ params, principal, address, reply }) {
        const server = lookUp(params.id, principal);
        mayLogIn(server, principal);
        if (!(await logins.logout(server, principal.id))) {
          throw new AppError('NOT_FOUND', `There is no login to ${server.name}`);
        }
        if (!isPerPrincipal(server)) await deps.fleet.reconnect(server);
        await note('server.logout', server, principal, address);
        reply.status(204);
      },
    }),

    route({
      method: 'GET',
      path: '/api/v1/aggregator/logins',
      tag: 'servers',
      summary: 'Who is logged in to which server',
      role: 'admin',
      answers: { 200: { description: 'Every login that is known', schema: z.object({ logins: z.array(knownLogin) }) } },
      async handle({ principal }) {
        const view = deps.viewOf(principal);
        const known = (await logins.list()).flatMap(
          ({ server_id, principal: id, state, issuer, scope, updated_at }) => {
            const server = registry.find(server_id);
            if (server === undefined || !view.server(server.name)) return [];
            const who = {
              principal: id === '' ? null : id,
              principal_name: authenticator.findPrincipal(id)?.name ?? null,
            };
            return [{ server_id, server: server.name, ...who, state, issuer, scope, changed_at: updated_at }];
          },
        );
        return { logins: known };
      },
    }),

    route({
      method: 'DELETE',
      path: `${base}/{id}/logins/{principal}`,
      tag: 'servers',
      summary: "End a principal's login to a server; its tokens are revoked and deleted",
      role: 'admin',
      params: byId.extend({ principal: z.string().min(1).describe('as the list of logins has it') }),
      answers: { 204: { description: 'Ended' }, 404: { description: 'There is no such server, or no such login' } },
      async handle({ params, principal, address, reply }) {
        const server = lookUp(params.id, principal);
        if (!isPerPrincipal(server) || !(await logins.logout(server, params.principal))) {
          throw new AppError('NOT_FOUND', `${params.principal} has no login of its own to ${server.name}`);
        }
        await note('server.logout', server, principal, address);
        reply.status(204);
      },
    }),

    route({
      method: 'GET',
      path: '/oauth/client.json',
      tag: 'login pages',
      summary: 'Who we are, for authorization servers (client id metadata document)',
      role: 'public',
      answers: { 200: { description: 'The document', schema: z.record(z.string(), z.unknown()) } },
      handle({ reply }) {
        const { metadataUrl, redirectUri } = deps.ours.everywhere();
        reply.header('cache-control', 'public, max-age=3600');
        return clientDocument(metadataUrl ?? new URL('/oauth/client.json', redirectUri).href, redirectUri);
      },
    }),

    route({
      method: 'GET',
      path: '/oauth/client/{issuer}',
      tag: 'login pages',
      summary: 'Who we are at one authorization server, which sends people back to an address of its own',
      role: 'public',
      params: byIssuer,
      answers: { 200: { description: 'The document', schema: z.record(z.string(), z.unknown()) } },
      handle({ params, reply }) {
        const { metadataUrl, redirectUri } = deps.ours.at(params.issuer);
        reply.header('cache-control', 'public, max-age=3600');
        return clientDocument(metadataUrl ?? new URL(`/oauth/client/${params.issuer}`, redirectUri).href, redirectUri);
      },
    }),

    route({
      method: 'GET',
      path: '/oauth/connect/{server}',
      tag: 'login pages',
      summary: 'What a login to a server means, before it begins',
      role: 'public',
      params: byName,
      query: z.object({ ticket: z.string().optional() }),
      answers: { 200: html },
      handle: (context) =>
        asPage(context, async () => {
          const { params, query, reply } = context;
          const here = `/oauth/connect/${encodeURIComponent(params.server)}`;
          if (query.ticket !== undefined) {
            const now = await visitor(context);
            const then = sessions.readTicket(query.ticket);
            if (now !== undefined && then !== undefined && now.id !== then.id)
              return show(context, switchPage(params.server, query.ticket, now.name, then.name));
            const guest = isFromHere(context) ? await sessions.redeemTicket(query.ticket) : undefined;
            if (guest !== undefined) reply.header('set-cookie', sessions.cookieFor(guest));
            // The ticket is used up, and gone from the address that the browser keeps.
            return reply.redirect(here, 303);
          }
          const principal = await visitor(context);
          if (principal === undefined) return show(context, askWho(params.server));
          const server = lookUp(params.server, principal);
          mayLogIn(server, principal);
          const { url } = logins.target(server, principal.id);
          const preview = await flow.preview(server, principal.id);
          const formKey = sessions.createFormKey(principal, `connect ${server.id} ${preview.digest}`);
          const shared = !isPerPrincipal(server);
          return show(
            context,
            consentPage({
              ...preview,
              server: server.name,
              serverUrl: url,
              principal: principal.name,
              shared,
              formKey,
            }),
          );
        }),
    }),

    route({
      method: 'POST',
      path: '/oauth/connect/{server}',
      tag: 'login pages',
      summary: 'The person agreed: on to the authorization server',
      role: 'public',
      params: byName,
      answers: { 303: { description: 'To the authorization server' } },
      handle: (context) =>
        asPage(context, async () => {
          const { params, request, reply } = context;
          const principal = sessions.find(request.headers.cookie);
          if (principal === undefined) return show(context, askWho(params.server), 401);
          const server = lookUp(params.server, principal);
          mayLogIn(server, principal);
          const form = new URLSearchParams(String(request.body));
          const agreed = form.get('agreed') ?? '';
          if (!sessions.isFormKey(form.get('form_key'), principal, `connect ${server.id} ${agreed}`)) {
            throw new AppError('FORBIDDEN', 'This page is too old or was not made for you; open the link again');
          }
          return reply.redirect(await flow.begin(server, principal.id, agreed), 303);
        }),
    }),

    route({
      method: 'POST',
      path: '/oauth/sign-in',
      tag: 'login pages',
      summary: 'Sign in to the login pages with a token',
      role: 'public',
      answers: { 303: { description: 'To the page that was asked for' } },
      handle: (context) =>
        asPage(context, async () => {
          const { request, reply } = context;
          // Another page, on another port of this machine too, must not sign people in as somebody of its choice.
          if (request.headers.origin !== undefined && !isOwnPage(request)) {
            throw new AppError('ORIGIN_NOT_ALLOWED', 'Only the sign-in page itself can sign in');
          }
          const form = new URLSearchParams(String(request.body));
          const next = form.get('next') ?? '';
          const ticket = form.get('ticket');
          if (ticket !== null) {
            const guest = isFromHere(context) ? await sessions.redeemTicket(ticket) : undefined;
            if (guest !== undefined) reply.header('set-cookie', sessions.cookieFor(guest));
            return reply.redirect(`/oauth/connect/${encodeURIComponent(next)}`, 303);
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
            return show(context, askWho(next, error.message), 401);
          }
          return reply.redirect(`/oauth/connect/${encodeURIComponent(next)}`, 303);
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
        place: z.string().default('').describe('where in the dashboard to go on'),
        moved: z.literal('1').optional().describe('set by ourselves'),
      }),
      answers: { 303: { description: 'To the identity provider' } },
      handle: (context) =>
        asPage(
          context,
          async () => {
            const { query, request, reply } = context;
            if (deps.signIn === undefined) throw new AppError('NOT_FOUND', 'No identity provider is configured');
            const { origin, host } = new URL(deps.ours.everywhere().redirectUri);
            // The provider sends people back to our one address; the cookie has to be set there.
            if (request.headers.host !== host && query.moved === undefined) {
              return reply.redirect(`${origin}/oauth/sign-in?${new URLSearchParams({ ...query, moved: '1' })}`, 303);
            }
            const { next, place } = query;
            const { page, cookie } = await deps.signIn.begin(next === undefined ? { place } : { server: next });
            return reply.header('set-cookie', cookie).redirect(page, 303);
          },
          toDashboard,
        ),
    }),

    route({
      method: 'GET',
      path: '/oauth/sign-in/callback',
      tag: 'login pages',
      summary: 'Where the identity provider sends people back to',
      role: 'public',
      answers: { 303: { description: 'To the page that was asked for' } },
      handle: (context) =>
        asPage(
          context,
          async () => {
            const { request, reply } = context;
            if (deps.signIn === undefined) throw new AppError('NOT_FOUND', 'No identity provider is configured');
            const { searchParams } = new URL(request.url, 'http://localhost');
            const { principal, goal, cookie } = await deps.signIn.finish(searchParams, request.headers.cookie);
            if ('server' in goal) {
              reply.header('set-cookie', [cookie, sessions.cookieFor(principal)]);
              return reply.redirect(`/oauth/connect/${encodeURIComponent(goal.server)}`, 303);
            }
            // Browsers hold back a strict cookie as long as they follow another site's redirect. So the dashboard gets
            // its session as from any one-time link: our own page asks for it.
            const { code } = await deps.pageSessions.createCode(deps.requestAuthenticator.tokenFor(principal));
            reply.header('set-cookie', cookie);
            return reply.redirect(`/#/sign-in?${new URLSearchParams({ code, place: goal.place })}`, 303);
          },
          toDashboard,
        ),
    }),

    callbackRoute('/oauth/callback'),
    callbackRoute('/oauth/callback/{issuer}', byIssuer),
  ];

  function callbackRoute(path: string, params?: typeof byIssuer): AnyRoute {
    return route({
      method: 'GET',
      path,
      tag: 'login pages',
      summary: 'Where authorization servers send people back to',
      role: 'public',
      ...(params === undefined ? {} : { params }),
      answers: { 200: html },
      handle: (context) =>
        asPage(context, async () => {
          const { request, address } = context;
          const principal = sessions.find(request.headers.cookie);
          if (principal === undefined) {
            throw new AppError('FORBIDDEN', 'This browser did not begin the login; open the link again in one browser');
          }
          const { pathname, searchParams } = new URL(request.url, 'http://localhost');
          const server = await flow.finish(pathname, searchParams, principal.id);
          await note('server.login', server, principal, address);
          return show(context, donePage(server.name));
        }),
    });
  }
}

const toDashboard = { href: '/', text: 'Back to the dashboard' };

/** A ticket vouches for whoever is at this machine; a proxy in front of us would let anybody be. */
function isFromHere({ request, address }: PageContext): boolean {
  const { host = '', forwarded, 'x-forwarded-for': forwardedFor } = request.headers;
  const name = host.replace(/:\d+$/, '');
  return isLoopback(name) && isLoopback(address) && forwarded === undefined && forwardedFor === undefined;
}

/** Every endpoint is a resource of its own; the empty path is the REST API. */
const resourcePaths = ['', '/mcp', '/mcp/servers/{name}', '/mcp/profiles/{name}', '/sse', '/messages'];

function resourceRoute(path: string, requestAuthenticator: ResourceAuthenticator): AnyRoute {
  const prefix = '/.well-known/oauth-protected-resource';
  return route({
    method: 'GET',
    path: `${prefix}${path}`,
    tag: 'access',
    summary: `Where to get a token for ${path === '' ? 'the REST API' : path} (RFC 9728)`,
    role: 'public',
    ...(path.includes('{name}') ? { params: z.object({ name: z.string().min(1) }) } : {}),
    answers: {
      200: { description: 'The metadata', schema: z.record(z.string(), z.unknown()) },
      404: { description: 'No identity provider is configured' },
    },
    handle({ request }) {
      const metadata = requestAuthenticator.metadata((request.url.split('?')[0] ?? '').slice(prefix.length));
      if (metadata === undefined) throw new AppError('NOT_FOUND', 'No identity provider is configured');
      return metadata;
    },
  });
}
