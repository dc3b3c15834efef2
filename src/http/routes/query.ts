/** `POST /api/v1/query`: one question to many servers, also as a stream; and the rules that choose the servers. */
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { streamHeaders, writeTo } from '../../event-stream.ts';
import { contextOutputSchema } from '../../query/context-tool.ts';
import type { Asking, QueryRunner } from '../../query/query-runner.ts';
import { queryOutputSchema } from '../../query/query-tool.ts';
import type { RuleStore } from '../../query/rule-store.ts';
import { rulesFor, serverRulesSchema } from '../../query/server-rules.ts';
import type { Registry } from '../../registry/registry.ts';
import { toDirectCaller } from '../../routing/call.ts';
import type { Audit } from '../../security/audit.ts';
import type { Secrets } from '../../security/secrets.ts';
import { toErrorAnswer } from '../error-answer.ts';
import { type AnyRoute, type RouteContext, route } from '../route.ts';
import { lookUpServer } from '../view.ts';

const progressSchema = z
  .string()
  .describe(
    'With Accept: text/event-stream, while the query runs: `plan` (as with explain), `server` (one of metadata.servers, as each answers or fails), and at the end `result` (the same as without a stream) or `error`',
  );

const rulesView = z.object({ serverRules: serverRulesSchema });

const strategyView = z.object({
  strategy: z.array(z.string()).describe('how the server is queried, one sentence each; empty if it cannot be queried'),
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
              502: { description: 'The model is unavailable or returned no context' },
            },
            handle: ({ body, principal, view, address, requestId, trace, signal }) =>
              collect(body, {
                caller: toDirectCaller({ principal, address }),
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
      // The stream starts with the first event, so that an invalid query still gets an error status.
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
      summary: 'Query several servers; returns one ranked, deduplicated list with sources',
      role: 'caller',
      // Validated by the query itself, so that errors are the same over REST, MCP and the command line.
      body: z.unknown(),
      answers: {
        200: { description: 'The results', schema: queryOutputSchema, streamed: progressSchema },
        503: { description: 'No server answered; context lists the servers that were tried and their errors' },
      },
      async handle(context) {
        const { body, principal, view, address, requestId, trace, signal, request } = context;
        const asking: Asking = {
          caller: toDirectCaller({ principal, address }),
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
      summary: 'Explain how a query uses this server',
      role: 'viewer',
      params: z.object({ id: z.string().min(1) }),
      answers: {
        200: { description: 'The explanation', schema: strategyView },
        404: { description: 'Server not found' },
      },
      handle: ({ params, view }) => queryRunner.describe(lookUpServer(registry, view, params.id), view),
    }),
    route({
      method: 'GET',
      path: '/api/v1/query/rules',
      tag: 'query',
      summary: 'List the rules that select the servers of a query',
      role: 'viewer',
      answers: { 200: { description: 'The rules in order; the first match applies', schema: rulesView } },
      handle: ({ view }) => ({ serverRules: rulesFor(ruleStore.list(), view.server) }),
    }),
    route({
      method: 'PUT',
      path: '/api/v1/query/rules',
      tag: 'query',
      summary: 'Replace the rules, effective immediately',
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
