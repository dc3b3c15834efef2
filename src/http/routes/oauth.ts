/** Logging in to servers, signing in to our pages, and where a client gets a token for us. */
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { signInPage } from '../../oauth/pages.ts';
import type { ResourceAuthenticator } from '../../oauth/request-authenticator.ts';
import { type AnyRoute, route } from '../route.ts';
import { type KeyPageDependencies, keyPageRoutes } from './key-pages.ts';
import {
  type AskWho,
  clientDocumentRoutes,
  type LoginPageDependencies,
  loginCallbackRoutes,
  loginPageRoutes,
} from './login-pages.ts';
import { type LoginRouteDependencies, loginRoutes } from './logins.ts';
import { type SignInPageDependencies, signInPageRoutes } from './sign-in-pages.ts';

export type OauthRouteDependencies = LoginRouteDependencies &
  LoginPageDependencies &
  KeyPageDependencies &
  SignInPageDependencies;

export function oauthRoutes(deps: OauthRouteDependencies): AnyRoute[] {
  const askWho: AskWho = (goal, problem) => {
    const issuer = deps.signIn?.issuer;
    const href = `/oauth/sign-in?${new URLSearchParams({ [goal.page === 'login' ? 'next' : 'keys']: goal.server })}`;
    return signInPage(goal, problem, issuer === undefined ? undefined : { issuer, href });
  };
  return [
    ...resourcePaths.map((path) => resourceRoute(path, deps.requestAuthenticator)),
    ...loginRoutes(deps),
    ...clientDocumentRoutes(deps.ours),
    ...loginPageRoutes(deps, askWho),
    ...keyPageRoutes(deps, askWho),
    ...signInPageRoutes(deps, askWho),
    ...loginCallbackRoutes(deps),
  ];
}

/** Each endpoint is a separate protected resource; the empty path is the REST API. */
const resourcePaths = ['', '/mcp', '/mcp/servers/{name}', '/mcp/profiles/{name}', '/sse', '/messages'];

function resourceRoute(path: string, requestAuthenticator: ResourceAuthenticator): AnyRoute {
  const prefix = '/.well-known/oauth-protected-resource';
  return route({
    method: 'GET',
    path: `${prefix}${path}`,
    tag: 'access',
    summary: `Protected resource metadata of ${path === '' ? 'the REST API' : path} (RFC 9728)`,
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
