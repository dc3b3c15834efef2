/** `POST /api/v1/query`: one question to many servers, also as a stream; and the rules that choose the servers. */
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { streamHeaders, writeTo } from '../../event-stream.ts';
import { contextOutputSchema } from '../../query/context-agent.ts';
import type { Asking, QueryRunner } from '../../query/query-runner.ts';
import { queryOutputSchema } from '../../query/query-tool.ts';
import type { RuleStore } from '../../query/rule-store.ts';
import { rulesFor, serverRulesSchema } from '../../query/server-rules.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Audit } from '../../security/audit.ts';
import type { Secrets } from '../../security/secrets.ts';
import { type AnyRoute, type RouteContext, route } from '../route.ts';
import { toErrorAnswer } from '../server.ts';
import { lookUpServer } from '../view.ts';

const progressSchema = z
  .string()
  .describe(
    'With Accept: text/event-stream, while the query runs: `plan` (as with explain), `server` (one of metadata.servers, as each has answered or failed), and at the end `result` (the same as without a stream) or `error`',
  );

const rulesView = z.object({ serverRules: serverRulesSchema });

const strategyView = z.object({
  strategy: z.array(z.string()).describe('how the server is asked, one sentence each; empty where it cannot be'),
  never_called: z.array(z.object({ tool: z.string(), reason: z.string() })),
});

export interface QueryRouteDependencies {
  registry: Registry;
  queryRunner: QueryRunner;
  ruleStore: RuleStore;
  audit: Audit;
  secrets: Secrets;
}

export function queryRoutes({ queryRunner, registry, ruleStore, audit, secrets }: QueryRouteDependencies): AnyRoute[] {
  const { collect } = queryRunner;
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
            answers: {
              200: { description: 'The context', schema: contextOutputSchema },
              502: { description: 'The model could not be asked, or gave no context' },
            },
            handle: ({ body, principal, view, address, requestId, trace, signal }) =>
              collect(body, {
                caller: { principal, address },
                requestId,
                trace,
                view,
                signal,
              }),
          }),
        ];

  async function askLive(
    { body, reply, requestId, note }: RouteContext<undefined, undefined, unknown>,
    asking: Asking,
  ): Promise<void> {
    const { raw } = reply;
    const tell = (event: string, data: unknown) => {
      // With the first event, not before: a question that cannot be asked is refused as it is without a stream.
      if (!raw.headersSent) {
        reply.hijack();
        raw.writeHead(200, { ...streamHeaders, 'x-request-id': requestId });
      }
      writeTo(raw, `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    };
    const watch = {
      onPlan: (plan: unknown) => tell('plan', plan),
      onServer: (report: unknown) => tell('server', report),
    };
    try {
      tell('result', await queryRunner.ask(body, { ...asking, watch }));
    } catch (error) {
      if (!raw.headersSent) throw error;
      note(error instanceof AppError ? { error_code: error.code } : { err: error });
      const { status, body: told } = toErrorAnswer(error);
      tell('error', { status, ...secrets.maskJson(told) });
    }
    raw.end();
  }

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
        200: { description: 'The results', schema: queryOutputSchema, streamed: progressSchema },
        503: { description: 'No server answered; context names those that were tried and their errors' },
      },
      async handle(context) {
        const { body, principal, view, address, requestId, trace, signal, request } = context;
        const asking: Asking = {
          caller: { principal, address },
          requestId,
          trace,
          view,
          signal,
        };
        const accepted = request.headers.accept ?? '';
        if (!accepted.includes('text/event-stream')) return await queryRunner.ask(body, asking);
        return await askLive(context, asking);
      },
    }),
    ...context,
    route({
      method: 'GET',
      path: '/api/v1/aggregator/servers/{id}/query-strategy',
      tag: 'query',
      summary: 'How a query asks this server',
      role: 'viewer',
      params: z.object({ id: z.string().min(1) }),
      answers: {
        200: { description: 'In words', schema: strategyView },
        404: { description: 'There is no such server' },
      },
      handle: ({ params, view }) => queryRunner.describe(lookUpServer(registry, view, params.id), view),
    }),
    route({
      method: 'GET',
      path: '/api/v1/query/rules',
      tag: 'query',
      summary: 'The rules that choose servers for a question',
      role: 'viewer',
      answers: { 200: { description: 'In order; the first that matches decides', schema: rulesView } },
      handle: ({ view }) => ({ serverRules: rulesFor(ruleStore.list(), view.server) }),
    }),
    route({
      method: 'PUT',
      path: '/api/v1/query/rules',
      tag: 'query',
      summary: 'Replace the rules; effective immediately',
      role: 'admin',
      unbound: true,
      body: z.strictObject({ serverRules: serverRulesSchema }),
      answers: { 200: { description: 'The rules', schema: rulesView } },
      async handle({ body, principal, address }) {
        await ruleStore.replace(body.serverRules);
        await audit.recordNow({
          event: 'query.rules',
          actor: principal.name,
          ip_address: address,
          details: { rules: body.serverRules.length },
        });
        return body;
      },
    }),
  ];
}
