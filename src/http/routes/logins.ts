/** Logging in to servers: the REST calls. */
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { isPerPrincipal } from '../../oauth/login-target.ts';
import type { Logins } from '../../oauth/logins.ts';
import type { Registry, Server } from '../../registry/registry.ts';
import type { Audit } from '../../security/audit.ts';
import type { Authenticator, Principal } from '../../security/auth.ts';
import { userOf } from '../../security/policy.ts';
import type { Fleet } from '../../upstream/fleet.ts';
import { mayLogIn, recordLogin } from '../login-access.ts';
import { type AnyRoute, route } from '../route.ts';
import { lookUpServer, type ViewOf } from '../view.ts';

export interface LoginRouteDependencies {
  registry: Registry;
  logins: Logins;
  authenticator: Authenticator;
  audit: Audit;
  viewOf: ViewOf;
  loginLink: (server: Server, principal: Principal) => string;
  fleet: Fleet;
}

const base = '/api/v1/aggregator/servers';
const byId = z.object({ id: z.string().min(1).describe("the server's id or name") });
const loginView = z.object({
  server_id: z.string(),
  server: z.string(),
  state: z.enum(['active', 'required', 'expired']).nullable().describe('null: no login is known to be needed'),
  changed_at: z.string().nullable(),
  login_url: z.string().describe('URL of the login page'),
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

export function loginRoutes(deps: LoginRouteDependencies): AnyRoute[] {
  const { registry, logins, authenticator, audit } = deps;

  const lookUp = (idOrName: string, principal: Principal) => lookUpServer(registry, deps.viewOf(principal), idOrName);

  async function view(server: Server, principal: Principal): Promise<z.infer<typeof loginView>> {
    const found = await logins.state(server, userOf(principal));
    return {
      server_id: server.id,
      server: server.name,
      state: found?.state ?? null,
      changed_at: found?.updated_at ?? null,
      login_url: deps.loginLink(server, principal),
    };
  }

  return [
    route({
      method: 'POST',
      path: `${base}/{id}/login`,
      tag: 'servers',
      summary: 'Create a link to the login page of a server (OAuth)',
      role: 'caller',
      params: byId,
      answers: { 200: { description: 'The link', schema: loginView }, 404: { description: 'Server not found' } },
      async handle({ params, principal }) {
        const server = lookUp(params.id, principal);
        mayLogIn(server, principal);
        logins.target(server, userOf(principal));
        return await view(server, principal);
      },
    }),

    route({
      method: 'GET',
      path: `${base}/{id}/login`,
      tag: 'servers',
      summary: 'Get the state of the login to a server',
      role: 'viewer',
      params: byId,
      answers: {
        200: { description: 'Its state', schema: loginView },
        404: { description: 'Server not found' },
      },
      handle: async ({ params, principal }) => await view(lookUp(params.id, principal), principal),
    }),

    route({
      method: 'DELETE',
      path: `${base}/{id}/login`,
      tag: 'servers',
      summary: 'Log out of a server; its tokens are revoked and deleted',
      role: 'caller',
      params: byId,
      answers: { 204: { description: 'Logged out' }, 404: { description: 'The server or its login was not found' } },
      async handle({ params, principal, address, reply }) {
        const server = lookUp(params.id, principal);
        mayLogIn(server, principal);
        if (!(await logins.logout(server, userOf(principal)))) {
          throw new AppError('NOT_FOUND', `No login to ${server.name} found`);
        }
        if (!isPerPrincipal(server)) await deps.fleet.reconnect(server);
        await recordLogin(audit, 'server.logout', server, { principal, address });
        reply.status(204);
      },
    }),

    route({
      method: 'GET',
      path: '/api/v1/aggregator/logins',
      tag: 'servers',
      summary: 'List the logins to servers',
      role: 'admin',
      answers: { 200: { description: 'The logins', schema: z.object({ logins: z.array(knownLogin) }) } },
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
      params: byId.extend({ principal: z.string().min(1).describe('as in the list of logins') }),
      answers: { 204: { description: 'Ended' }, 404: { description: 'The server or the login was not found' } },
      async handle({ params, principal, address, reply }) {
        const server = lookUp(params.id, principal);
        if (!isPerPrincipal(server) || !(await logins.logout(server, params.principal))) {
          throw new AppError('NOT_FOUND', `${params.principal} has no login to ${server.name}`);
        }
        await recordLogin(audit, 'server.logout', server, { principal, address });
        reply.status(204);
      },
    }),
  ];
}
