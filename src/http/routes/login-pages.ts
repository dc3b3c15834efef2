/** Logging in to servers: the pages that a browser goes through, and who we are for the authorization servers. */
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import type { BrowserSessions } from '../../oauth/browser-session.ts';
import { clientDocument, type OurClients } from '../../oauth/client-registration.ts';
import type { LoginFlow } from '../../oauth/flow.ts';
import { isPerPrincipal } from '../../oauth/login-target.ts';
import type { Logins } from '../../oauth/logins.ts';
import { consentPage, donePage, type PageGoal } from '../../oauth/pages.ts';
import type { ResourceAuthenticator } from '../../oauth/request-authenticator.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Audit } from '../../security/audit.ts';
import type { Principal } from '../../security/auth.ts';
import type { AuthenticationThrottle } from '../../security/authentication-throttle.ts';
import { userOf } from '../../security/policy.ts';
import { mayLogIn, recordLogin } from '../login-access.ts';
import { asPage, html, show } from '../page.ts';
import { redeemLink, visitorOf } from '../page-visitor.ts';
import { type AnyRoute, route } from '../route.ts';
import { lookUpServer, type ViewOf } from '../view.ts';

export interface LoginPageDependencies {
  registry: Registry;
  logins: Logins;
  flow: LoginFlow;
  sessions: BrowserSessions;
  throttle: AuthenticationThrottle;
  audit: Audit;
  ours: OurClients;
  viewOf: ViewOf;
  requestAuthenticator: ResourceAuthenticator;
}

/** The page that asks who is there, on the way to a page about a server. */
export type AskWho = (goal: PageGoal, problem?: string) => string;

const byName = z.object({ server: z.string().min(1) });
const byIssuer = z.object({
  issuer: z
    .string()
    .regex(/^[0-9a-f]{24}$/)
    .describe('key that identifies the authorization server'),
});

export function clientDocumentRoutes(ours: OurClients): AnyRoute[] {
  return [
    route({
      method: 'GET',
      path: '/oauth/client.json',
      tag: 'login pages',
      summary: 'Client ID metadata document, for authorization servers',
      role: 'public',
      answers: { 200: { description: 'The document', schema: z.record(z.string(), z.unknown()) } },
      handle({ reply }) {
        const { metadataUrl, redirectUri } = ours.everywhere();
        reply.header('cache-control', 'public, max-age=3600');
        return clientDocument(metadataUrl ?? new URL('/oauth/client.json', redirectUri).href, redirectUri);
      },
    }),

    route({
      method: 'GET',
      path: '/oauth/client/{issuer}',
      tag: 'login pages',
      summary: 'Client ID metadata document for one authorization server, with its own redirect URI',
      role: 'public',
      params: byIssuer,
      answers: { 200: { description: 'The document', schema: z.record(z.string(), z.unknown()) } },
      handle({ params, reply }) {
        const { metadataUrl, redirectUri } = ours.at(params.issuer);
        reply.header('cache-control', 'public, max-age=3600');
        return clientDocument(metadataUrl ?? new URL(`/oauth/client/${params.issuer}`, redirectUri).href, redirectUri);
      },
    }),
  ];
}

export function loginPageRoutes(deps: LoginPageDependencies, askWho: AskWho): AnyRoute[] {
  const { registry, logins, flow, sessions } = deps;

  const lookUp = (idOrName: string, principal: Principal) => lookUpServer(registry, deps.viewOf(principal), idOrName);

  return [
    route({
      method: 'GET',
      path: '/oauth/connect/{server}',
      tag: 'login pages',
      summary: 'Consent page before the login to a server',
      role: 'public',
      params: byName,
      query: z.object({ ticket: z.string().optional() }),
      answers: { 200: html },
      handle: (context) =>
        asPage(context, async () => {
          const { params, query } = context;
          const goal = { page: 'login', server: params.server } as const;
          if (query.ticket !== undefined) return await redeemLink(deps, context, goal, query.ticket);
          const principal = await visitorOf(deps, context);
          if (principal === undefined) return show(context, askWho(goal));
          const server = lookUp(params.server, principal);
          mayLogIn(server, principal);
          const { url } = await logins.target(server, userOf(principal));
          const preview = await flow.preview(server, userOf(principal));
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
      summary: 'Confirm the consent page and continue to the authorization server',
      role: 'public',
      params: byName,
      answers: { 303: { description: 'Redirect to the authorization server' } },
      handle: (context) =>
        asPage(context, async () => {
          const { params, request, reply } = context;
          const principal = sessions.find(request.headers.cookie);
          if (principal === undefined) return show(context, askWho({ page: 'login', server: params.server }), 401);
          const server = lookUp(params.server, principal);
          mayLogIn(server, principal);
          const form = new URLSearchParams(String(request.body));
          const agreed = form.get('agreed') ?? '';
          if (!sessions.isFormKey(form.get('form_key'), principal, `connect ${server.id} ${agreed}`)) {
            throw new AppError('FORBIDDEN', 'This page has expired or belongs to another user; open the link again');
          }
          return reply.redirect(await flow.begin(server, userOf(principal), agreed), 303);
        }),
    }),
  ];
}

export function loginCallbackRoutes(deps: LoginPageDependencies): AnyRoute[] {
  return [callbackRoute(deps, '/oauth/callback'), callbackRoute(deps, '/oauth/callback/{issuer}', byIssuer)];
}

function callbackRoute(deps: LoginPageDependencies, path: string, params?: typeof byIssuer): AnyRoute {
  return route({
    method: 'GET',
    path,
    tag: 'login pages',
    summary: 'Redirect URI for authorization servers',
    role: 'public',
    ...(params === undefined ? {} : { params }),
    answers: { 200: html },
    handle: (context) =>
      asPage(context, async () => {
        const { request, address } = context;
        const principal = deps.sessions.find(request.headers.cookie);
        if (principal === undefined) {
          throw new AppError(
            'FORBIDDEN',
            'The login was started in another browser; open the link again and stay in one browser',
          );
        }
        const { pathname, searchParams } = new URL(request.url, 'http://localhost');
        const server = await deps.flow.finish(pathname, searchParams, userOf(principal));
        await recordLogin(deps.audit, 'server.login', server, { principal, address });
        return show(context, donePage(server.name));
      }),
  });
}
