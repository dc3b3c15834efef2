/** `/api/v1/session`: signing in to the dashboard, and the one-time link of `mcp-aggregator open`. */
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import type { BrowserSessions } from '../../oauth/browser-session.ts';
import type { IdentityProviderView } from '../../oauth/oauth.ts';
import type { Principal } from '../../security/auth.ts';
import type { AuthenticationThrottle, ThrottledRequestAuthenticator } from '../../security/authentication-throttle.ts';
import { isOwnPage, type PageRequest, type PageSessions, sessionPath as path } from '../../security/page-session.ts';
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
      dashboard: z.string().nullable().describe('URL where a browser starts the sign-in, relative to this aggregator'),
      command_line: z
        .object({ client_id: z.string(), resource: z.string(), scopes: z.array(z.string()) })
        .nullable()
        .describe('scopes that `mcp-aggregator sign-in` requests'),
    })
    .nullable()
    .describe('null: only tokens of the aggregator are accepted'),
});

const byCode = z.strictObject({
  code: z.string().min(1),
  replace: z.boolean().optional().describe("whether to end another user's session in this browser"),
});

const tag = 'access';
const tooMany = { description: 'Too many failed sign-ins from this address; see Retry-After' };

interface SessionRouteDependencies {
  sessions: PageSessions;
  /** Signing out of the dashboard also signs out of the login pages. */
  pages: BrowserSessions;
  requestAuthenticator: ThrottledRequestAuthenticator;
  throttle: AuthenticationThrottle;
  identityProvider: () => IdentityProviderView | undefined;
  loopbackListener: boolean;
}

export function sessionRoutes(deps: SessionRouteDependencies): AnyRoute[] {
  const { sessions, pages, requestAuthenticator, throttle, loopbackListener } = deps;

  async function whoIs(authorization: string | undefined, address: string): Promise<Principal | undefined> {
    try {
      return await requestAuthenticator.authenticate({ authorization, loopbackListener, path, address });
    } catch (error) {
      if (error instanceof AppError && error.code === 'UNAUTHENTICATED') return undefined;
      throw error;
    }
  }

  /** A link may come from an attacker, so it must not replace a session without confirmation. */
  async function refuseOther({ id, name, role }: Principal, request: PageRequest, address: string): Promise<void> {
    const token = sessions.tokenOf(request);
    const current = token === undefined ? undefined : await whoIs(`Bearer ${token}`, address);
    if (current === undefined || current.id === id) return;
    throw new AppError(
      'SIGNED_IN_AS_ANOTHER',
      `This browser is signed in as ${current.name}; the link signs in as ${name}. Send "replace": true to switch users`,
      { context: { signed_in_as: { name: current.name, role: current.role }, link_signs_in: { name, role } } },
    );
  }

  return [
    route({
      method: 'GET',
      path,
      tag,
      summary: 'Get the principal of this request',
      // Not an error, because the dashboard uses this to decide whether to show the sign-in.
      role: 'public',
      answers: {
        200: { description: 'The principal of this request', schema: principalView },
        204: { description: 'No session' },
        429: tooMany,
      },
      async handle({ authorization, reply, address }) {
        const principal = await whoIs(authorization, address);
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
      body: z.union([z.strictObject({ token: z.string().min(1) }), byCode], {
        error: 'must contain either "token" or "code"',
      }),
      answers: {
        200: { description: 'Signed in; the session is in a cookie', schema: principalView },
        401: { description: 'The token or the link is not valid' },
        409: { description: 'The browser has a session of another user. The link remains valid.' },
        429: tooMany,
      },
      async handle({ body, request, reply, address }) {
        // Login CSRF: another page must not sign a user in to an account of its choice.
        if (request.headers.origin !== undefined && !isOwnPage(request)) {
          throw new AppError('ORIGIN_NOT_ALLOWED', 'Requests from other pages cannot sign in');
        }
        const { principal, cookie } = await throttle.check(
          address,
          async () => {
            const token = 'token' in body ? body.token.trim() : await sessions.peek(body.code);
            return await sessions.begin(token, request.headers);
          },
          (begun) => begun.principal.id,
        );
        if ('code' in body) {
          if (body.replace !== true) await refuseOther(principal, request, address);
          await sessions.redeem(body.code);
        }
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
      summary: 'Get the sign-in methods other than tokens',
      role: 'public',
      answers: { 200: { description: 'The identity provider, if there is one', schema: waysView } },
      handle: (): z.infer<typeof waysView> => ({ identity_provider: deps.identityProvider() ?? null }),
    }),

    route({
      method: 'POST',
      path: `${path}/links`,
      tag,
      summary: 'Create a one-time sign-in link for the caller',
      role: 'viewer',
      answers: {
        201: {
          description: 'The link, relative to this aggregator',
          schema: z.object({ path: z.string(), expires_at: z.string() }),
        },
      },
      async handle({ authorization, reply }) {
        const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
        if (token === undefined)
          throw new AppError('UNAUTHENTICATED', 'A sign-in link can only be created with a token');
        const { code, expiresAt } = await sessions.createCode(token);
        reply.status(201);
        // After the "#", because browsers do not send the fragment, so logs and proxies never contain the code.
        return { path: `/#/sign-in?code=${code}`, expires_at: expiresAt };
      },
    }),
  ];
}

function toView({ name, role, servers, profile }: Principal): z.infer<typeof principalView> {
  return { name, role, servers: servers === null ? null : [...servers], profile, version };
}
