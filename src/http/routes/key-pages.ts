/** The page where a user enters the keys that a server asks for: its address is in the answer to a call without them. */
import { z } from 'zod';
import { AppError, ValidationError } from '../../errors.ts';
import { keyPage } from '../../oauth/pages.ts';
import type { Server } from '../../registry/registry.ts';
import type { Principal } from '../../security/auth.ts';
import { requireRole, userOf } from '../../security/policy.ts';
import { enterKey, type KeyEntryDependencies, requireKeyTarget } from '../key-entry.ts';
import { asPage, html, type PageContext, show } from '../page.ts';
import { redeemLink, type VisitorDependencies, visitorOf } from '../page-visitor.ts';
import { type AnyRoute, route } from '../route.ts';
import { lookUpServer, type ViewOf } from '../view.ts';
import type { AskWho } from './login-pages.ts';

export type KeyPageDependencies = KeyEntryDependencies & VisitorDependencies & { viewOf: ViewOf };

const byName = z.object({ server: z.string().min(1) });

export function keyPageRoutes(deps: KeyPageDependencies, askWho: AskWho): AnyRoute[] {
  const { registry, userKeys, sessions } = deps;
  const purposeOf = (server: Server) => `keys ${server.id}`;
  const goalOf = (server: string) => ({ page: 'keys', server }) as const;

  function lookUp(name: string, principal: Principal): Server {
    const server = lookUpServer(registry, deps.viewOf(principal), name);
    requireRole(principal, 'caller');
    return server;
  }

  function pageFor(server: Server, principal: Principal, said: { note?: string; problem?: string } = {}): string {
    const target = requireKeyTarget(deps, server);
    const entered = userKeys.entered(target, userOf(principal));
    return keyPage({
      ...said,
      server: server.name,
      place: target.place === 'STDIO' ? 'a program on the host of the aggregator' : target.place,
      principal: principal.name,
      names: target.names.map((name) => ({ name, isEntered: (entered.get(name) ?? null) !== null })),
      formKey: sessions.createFormKey(principal, purposeOf(server)),
    });
  }

  const asKeyPage = (context: PageContext, make: () => Promise<unknown>) =>
    asPage(context, make, undefined, 'Keys cannot be entered');

  return [
    route({
      method: 'GET',
      path: '/keys/{server}',
      tag: 'login pages',
      summary: 'Page to enter your keys for a server',
      role: 'public',
      params: byName,
      query: z.object({ ticket: z.string().optional() }),
      answers: { 200: html },
      handle: (context) =>
        asKeyPage(context, async () => {
          const { params, query } = context;
          const goal = goalOf(params.server);
          if (query.ticket !== undefined) return await redeemLink(deps, context, goal, query.ticket);
          const principal = await visitorOf(deps, context);
          if (principal === undefined) return show(context, askWho(goal));
          return show(context, pageFor(lookUp(params.server, principal), principal));
        }),
    }),

    route({
      method: 'POST',
      path: '/keys/{server}',
      tag: 'login pages',
      summary: 'Save the keys of the page',
      role: 'public',
      params: byName,
      answers: { 200: html },
      handle: (context) =>
        asKeyPage(context, async () => {
          const { params, request, address } = context;
          const principal = sessions.find(request.headers.cookie);
          if (principal === undefined) return show(context, askWho(goalOf(params.server)), 401);
          const server = lookUp(params.server, principal);
          const form = new URLSearchParams(String(request.body));
          if (!sessions.isFormKey(form.get('form_key'), principal, purposeOf(server)))
            throw new AppError('FORBIDDEN', 'This page has expired or belongs to another user; open the link again');
          const given = requireKeyTarget(deps, server).names.flatMap((name) => {
            const value = form.get(`key:${name}`)?.trim() ?? '';
            return value === '' ? [] : [{ name, value }];
          });
          try {
            for (const key of given) await enterKey(deps, server, key, { principal, address });
          } catch (error) {
            if (!(error instanceof ValidationError)) throw error;
            const problem = error.problems.map(({ msg }) => msg).join('; ');
            return show(context, pageFor(server, principal, { problem }), 422);
          }
          const note = given.length === 0 ? 'Nothing was entered.' : 'Saved. You can close this page and try again.';
          return show(context, pageFor(server, principal, { note }));
        }),
    }),
  ];
}
