/** `/api/v1/session`: signing in to the dashboard, and the one-time link of `mcp-aggregator open`. */
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import type { BrowserSessions } from '../../oauth/browser-session.ts';
import type { IdentityProviderView } from '../../oauth/oauth.ts';
import type { Gatekeeper, Principal } from '../../security/auth.ts';
import { isOwnPage, type PageSessions, sessionPath as path } from '../../security/page-session.ts';
import { version } from '../../version.ts';
import { type AnyRoute, route } from '../route.ts';

const principalView = z.object({
  name: z.string(),
  role: z.enum(['admin', 'caller', 'viewer']),
  servers: z.array(z.string()).nullable().describe('null: all of them'),
  profile: z.string().nullable(),
  version: z.string(),
});

const waysView = z.object({
  identity_provider: z
    .object({
      issuer: z.string(),
      dashboard: z.string().nullable().describe('where a browser begins, relative to this aggregator'),
      command_line: z
        .object({ client_id: z.string(), resource: z.string(), scopes: z.array(z.string()) })
        .nullable()
        .describe('what `mcp-aggregator sign-in` asks for'),
    })
    .nullable()
    .describe('null: only our own tokens open anything here'),
});

const tag = 'access';

export interface SessionRouteDependencies {
  sessions: PageSessions;
  /** Of the login pages: who signs out of the dashboard is signed out of them as well. */
  pages: BrowserSessions;
  gatekeeper: Gatekeeper;
  identityProvider: () => IdentityProviderView | undefined;
  loopbackListener: boolean;
}

export function sessionRoutes(deps: SessionRouteDependencies): AnyRoute[] {
  const { sessions, pages, gatekeeper, loopbackListener } = deps;

  async function whoIs(authorization: string | undefined): Promise<Principal | undefined> {
    try {
      return await gatekeeper.authenticate({ authorization, loopbackListener, path });
    } catch (error) {
      if (error instanceof AppError && error.code === 'UNAUTHENTICATED') return undefined;
      throw error;
    }
  }

  return [
    route({
      method: 'GET',
      path,
      tag,
      summary: 'Who am I?',
      // Not an error for a page that asks whether it has to show the sign-in.
      role: 'public',
      answers: {
        200: { description: 'The principal of this request', schema: principalView },
        204: { description: 'Nobody is signed in' },
      },
      async handle({ request, reply }) {
        const principal = await whoIs(request.headers.authorization);
        if (principal !== undefined) return toView(principal);
        reply.status(204);
      },
    }),

    route({
      method: 'POST',
      path,
      tag,
      summary: 'Sign in a browser, with a token or the code of a one-time link',
      role: 'public',
      body: z.union([z.strictObject({ token: z.string().min(1) }), z.strictObject({ code: z.string().min(1) })], {
        error: 'must hold either "token" or "code"',
      }),
      answers: {
        200: { description: 'Signed in; the session is in a cookie', schema: principalView },
        401: { description: 'The token or the link is not valid' },
      },
      async handle({ body, request, reply }) {
        // Another page must not sign people in as somebody of its choice.
        if (request.headers.origin !== undefined && !isOwnPage(request)) {
          throw new AppError('ORIGIN_NOT_ALLOWED', 'Only the dashboard itself can sign in');
        }
        const token = 'token' in body ? body.token.trim() : await sessions.redeem(body.code);
        const { principal, cookie } = await sessions.begin(token, request.headers);
        reply.header('set-cookie', cookie);
        return toView(principal);
      },
    }),

    route({
      method: 'DELETE',
      path,
      tag,
      summary: 'Sign out',
      role: 'public',
      answers: { 204: { description: 'Signed out' } },
      async handle({ request, reply }) {
        if (isOwnPage(request)) {
          reply.header('set-cookie', [await sessions.end(request.headers), pages.endCookie()]);
        }
        reply.status(204);
      },
    }),

    route({
      method: 'GET',
      path: `${path}/ways`,
      tag,
      summary: 'How people sign in here, beside with our tokens',
      role: 'public',
      answers: { 200: { description: 'The identity provider, if there is one', schema: waysView } },
      handle: (): z.infer<typeof waysView> => ({ identity_provider: deps.identityProvider() ?? null }),
    }),

    route({
      method: 'POST',
      path: `${path}/links`,
      tag,
      summary: 'A link that signs in a browser once, as whoever asks for it',
      role: 'viewer',
      answers: {
        201: {
          description: 'The link, relative to this aggregator',
          schema: z.object({ path: z.string(), expires_at: z.string() }),
        },
      },
      async handle({ request, reply }) {
        const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
        if (token === undefined) throw new AppError('UNAUTHENTICATED', 'A link needs a token to sign in with');
        const { code, expiresAt } = await sessions.createCode(token);
        reply.status(201);
        // After the "#": browsers keep that part to themselves, so no log and no proxy sees it.
        return { path: `/#/sign-in?code=${code}`, expires_at: expiresAt };
      },
    }),
  ];
}

function toView({ name, role, servers, profile }: Principal): z.infer<typeof principalView> {
  return { name, role, servers: servers === null ? null : [...servers], profile, version };
}
