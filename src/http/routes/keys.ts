/** `/api/v1/keys`: the keys that servers ask each of their users for. Values go in and never come out. */
import { z } from 'zod';
import type { Server } from '../../registry/registry.ts';
import type { Principal } from '../../security/auth.ts';
import { userOf } from '../../security/policy.ts';
import { enterKey, type KeyEntryDependencies, maxKeyChars, removeKey, requireKeyTarget } from '../key-entry.ts';
import { type AnyRoute, route } from '../route.ts';
import { lookUpServer, type ViewOf } from '../view.ts';

export interface KeyRouteDependencies extends KeyEntryDependencies {
  viewOf: ViewOf;
  keyLink: (server: Server, principal: Principal) => string;
}

const path = '/api/v1/keys';
const tag = 'access';
const byServer = z.object({ server: z.string().min(1).describe("the server's id or name") });
const byName = byServer.extend({ name: z.string().min(1).max(64).describe('name of the key') });

const serverKeys = z.object({
  server_id: z.string(),
  server: z.string(),
  sent_to: z.string().nullable().describe('where your keys are sent; null: to a program on the host of the aggregator'),
  complete: z.boolean().describe('whether you entered all of them; calls fail with KEY_REQUIRED before'),
  keys: z.array(
    z.object({ name: z.string(), entered_at: z.string().nullable().describe('null: you have not entered it') }),
  ),
});

const unknownKey = { description: 'The server was not found, or does not ask for this key' };

export function keyRoutes(deps: KeyRouteDependencies): AnyRoute[] {
  const { registry, userKeys } = deps;

  const lookUp = (idOrName: string, principal: Principal) => lookUpServer(registry, deps.viewOf(principal), idOrName);

  function toView(server: Server, principal: Principal): z.infer<typeof serverKeys> {
    const target = requireKeyTarget(deps, server);
    const entered = [...userKeys.entered(target, userOf(principal))];
    return {
      server_id: server.id,
      server: server.name,
      sent_to: target.place === 'STDIO' ? null : target.place,
      complete: entered.every(([, at]) => at !== null),
      keys: entered.map(([name, entered_at]) => ({ name, entered_at })),
    };
  }

  return [
    route({
      method: 'GET',
      path,
      tag,
      summary: 'List the keys that servers ask you for, and which of them you entered',
      role: 'viewer',
      answers: {
        200: { description: 'The servers', schema: z.object({ servers: z.array(serverKeys), total: z.int() }) },
      },
      handle({ principal, view }) {
        const asking = registry.list().filter(({ name, user_keys }) => user_keys.length > 0 && view.server(name));
        const servers = asking.map((server) => toView(server, principal));
        return { servers, total: servers.length };
      },
    }),

    route({
      method: 'POST',
      path: `${path}/{server}/link`,
      tag,
      summary: 'Create a link to the page where you enter your keys for a server',
      role: 'caller',
      params: byServer,
      answers: {
        200: { description: 'The link', schema: z.object({ key_url: z.string() }) },
        404: { description: 'Server not found' },
        409: { description: 'The server asks for no keys' },
      },
      handle({ params, principal }) {
        const server = lookUp(params.server, principal);
        requireKeyTarget(deps, server);
        return { key_url: deps.keyLink(server, principal) };
      },
    }),

    route({
      method: 'PUT',
      path: `${path}/{server}/{name}`,
      tag,
      summary: 'Enter one of your keys for a server; your sessions with it are opened again',
      role: 'caller',
      params: byName,
      body: z.strictObject({ value: z.string().min(1).max(maxKeyChars) }),
      answers: {
        204: { description: 'Stored, encrypted' },
        404: unknownKey,
        409: { description: 'The server asks for no keys' },
      },
      async handle({ params, body, principal, address, reply }) {
        const server = lookUp(params.server, principal);
        await enterKey(deps, server, { name: params.name, value: body.value }, { principal, address });
        reply.status(204);
      },
    }),

    route({
      method: 'DELETE',
      path: `${path}/{server}/{name}`,
      tag,
      summary: 'Remove one of your keys for a server; your sessions with it end',
      role: 'caller',
      params: byName,
      answers: { 204: { description: 'Removed' }, 404: unknownKey },
      async handle({ params, principal, address, reply }) {
        await removeKey(deps, lookUp(params.server, principal), params.name, { principal, address });
        reply.status(204);
      },
    }),
  ];
}
