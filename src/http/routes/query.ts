/** `POST /api/v1/query`: one question to many servers; and the rules that choose the servers. */
import { z } from 'zod';
import type { Asker } from '../../query/asker.ts';
import { contextOutputSchema } from '../../query/context-agent.ts';
import { queryOutputSchema } from '../../query/query-tool.ts';
import { serverRulesSchema } from '../../query/server-rules.ts';
import type { Audit } from '../../security/audit.ts';
import { maySee } from '../../security/policy.ts';
import { type AnyRoute, route } from '../route.ts';

const rulesView = z.object({ serverRules: serverRulesSchema });

export function queryRoutes({ asker, audit }: { asker: Asker; audit: Audit }): AnyRoute[] {
  const { collect } = asker;
  const context: AnyRoute[] =
    collect === undefined
      ? []
      : [
          route({
            method: 'POST',
            path: '/api/v1/query/context',
            tag: 'query',
            summary: 'Let an agent collect a context with citations (needs a model key)',
            role: 'caller',
            body: z.unknown(),
            answers: { 200: { description: 'The context', schema: contextOutputSchema } },
            handle: ({ body, principal, address, requestId, trace, signal }) =>
              collect(body, {
                caller: { principal, address, requestId, trace },
                visible: (server) => maySee(principal, server.name),
                signal,
              }),
          }),
        ];

  return [
    route({
      method: 'POST',
      path: '/api/v1/query',
      tag: 'query',
      summary: 'Ask many servers one question; one ranked, deduplicated, attributed list',
      role: 'caller',
      // Checked by the query itself: its errors are the same on every surface.
      body: z.unknown(),
      answers: {
        200: { description: 'The results', schema: queryOutputSchema },
        503: { description: 'No server answered; context names those that were tried and their errors' },
      },
      handle: ({ body, principal, address, requestId, trace, signal }) =>
        asker.ask(body, {
          caller: { principal, address, requestId, trace },
          visible: (server) => maySee(principal, server.name),
          signal,
        }),
    }),
    ...context,
    route({
      method: 'GET',
      path: '/api/v1/query/rules',
      tag: 'query',
      summary: 'The rules that choose servers for a question',
      role: 'viewer',
      answers: { 200: { description: 'In order; the first that matches decides', schema: rulesView } },
      handle: () => ({ serverRules: asker.rules }),
    }),
    route({
      method: 'PUT',
      path: '/api/v1/query/rules',
      tag: 'query',
      summary: 'Replace the rules; they hold at once',
      role: 'admin',
      body: z.strictObject({ serverRules: serverRulesSchema }),
      answers: { 200: { description: 'The rules', schema: rulesView } },
      async handle({ body, principal, address }) {
        await asker.setRules(body.serverRules);
        await audit.recordNow({
          event: 'query.rules',
          actor: principal.name,
          ip_address: address,
          details: { rules: body.serverRules.length },
        });
        return { serverRules: asker.rules };
      },
    }),
  ];
}
