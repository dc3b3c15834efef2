/** The aggregator query with everything it needs: who may be asked, how a tool is found, how it is called. */
import type { Catalog, CatalogTool } from '../catalog/catalog.ts';
import { seesNamed, type View } from '../catalog/view.ts';
import type { Config } from '../config.ts';
import { withPlainNumbers } from '../exact-json.ts';
import { isObject, type JsonObject } from '../json-rpc.ts';
import type { Caller, Router } from '../routing/call.ts';
import { resolveTool } from '../routing/resolve.ts';
import type { Finder } from '../search/finder.ts';
import { noTracer, type TraceContext, type Tracer, traced } from '../tracing.ts';
import { type ContextOutput, collectContext } from './context-agent.ts';
import type { CallTool } from './fan-out.ts';
import type { MessagesApi } from './messages-api.ts';
import { type QueryDeps, type QueryServer, type QueryWatch, runQuery } from './query.ts';
import type { QueryOutput } from './query-tool.ts';
import type { ServerRule } from './server-rules.ts';

type Server = Catalog['snapshot']['tools'][number]['server'];

export interface Asker {
  ask(input: unknown, asking: Asking): Promise<QueryOutput>;
  /** Only where a model is configured. */
  collect?(input: unknown, asking: Asking): Promise<ContextOutput>;
}

export interface Asking {
  caller: Caller;
  /** Which servers may be asked, and with which tools. */
  view: View;
  signal: AbortSignal;
  watch?: QueryWatch;
}

export interface AskerDependencies {
  config: Config;
  catalog: Catalog;
  router: Router;
  finder: Finder;
  listServers: () => Server[];
  listRules: () => readonly ServerRule[];
  tracer?: Tracer;
  onQuery?: (ms: number) => void;
}

/** The local order is at hand: a model that takes longer is not worth the wait. */
const rerankTimeoutMs = 10_000;

export function createAsker(deps: AskerDependencies): Asker {
  const { config, catalog, router, finder, tracer = noTracer } = deps;
  const model: MessagesApi | undefined =
    config.anthropicApiKey === undefined
      ? undefined
      : {
          baseUrl: config.anthropicBaseUrl,
          apiKey: config.anthropicApiKey,
          model: config.model,
          timeoutMs: rerankTimeoutMs,
        };

  function common({ caller, view }: Asking): Omit<QueryDeps, 'rules' | 'limits'> {
    const servers = deps.listServers().filter(({ name }) => view.server(name));
    const byName = new Map(servers.map((server) => [server.name, server]));
    const offered = (server: Server) => (catalog.snapshot.toolsByServer.get(server.id) ?? []).filter(view.tool);
    const callTool: CallTool = async (serverName, name, args, signal) => {
      const server = byName.get(serverName);
      const { tool } = resolveTool(catalog.snapshot, { name, server, visible: view.tool });
      const { result } = await router.callTool(tool, { name, arguments: args }, caller, { signal });
      return withPlainNumbers(result);
    };
    return {
      servers: () => servers.map((server) => toQueryServer(server, offered(server))),
      async findTools(query, names, limit) {
        const request = { query, limit, serverFilter: [...names], isVisible: seesNamed(view, catalog) };
        const { tools } = await finder.search(request, undefined, caller.trace);
        return tools.map(({ tool, score }) => ({ server: tool.server, tool: tool.originalName, score }));
      },
      callTool,
      embed: (texts) => finder.embed(texts),
      model,
    };
  }

  return {
    ask: (input, asking) =>
      traced(tracer, { name: 'query', parent: asking.caller.trace, attributes: queryAttributes }, async (trace) => {
        const started = performance.now();
        const { signal, watch } = asking;
        const rules = deps.listRules();
        const output = await runQuery({ ...common(within(asking, trace)), rules, watch }, input, signal);
        deps.onQuery?.(performance.now() - started);
        return output;
      }),
    collect:
      model === undefined
        ? undefined
        : (input, asking) =>
            traced(
              tracer,
              { name: 'query.context', parent: asking.caller.trace, attributes: contextAttributes },
              async (trace) => await collectContext({ ...common(within(asking, trace)), model }, input, asking.signal),
            ),
  };
}

function within(asking: Asking, trace: TraceContext | undefined): Asking {
  return { ...asking, caller: { ...asking.caller, trace } };
}

function queryAttributes({ results, metadata }: QueryOutput) {
  return {
    'mcp_aggregator.query.servers': metadata.servers?.map(({ server }) => server).join(','),
    'mcp_aggregator.query.servers_queried': metadata.serversQueried,
    'mcp_aggregator.query.servers_succeeded': metadata.serversSucceeded,
    'mcp_aggregator.query.chosen_by': metadata.chosenBy,
    'mcp_aggregator.query.items': metadata.totalResultsRaw,
    'mcp_aggregator.query.results': results.length,
    'mcp_aggregator.query.ranking': metadata.ranking,
  };
}

function contextAttributes({ metadata }: ContextOutput) {
  return {
    'mcp_aggregator.query.rounds': metadata.rounds,
    'mcp_aggregator.query.calls': metadata.calls,
    'mcp_aggregator.query.ended_by': metadata.endedBy,
  };
}

function toQueryServer(server: Server, tools: readonly CatalogTool[]): QueryServer {
  const { status } = server.lifecycle;
  const usable = status === 'CONNECTED' || status === 'DEGRADED';
  return {
    name: server.name,
    ...(usable ? {} : { unavailable: `not connected: ${status}` }),
    queryTools: server.options.query_tools,
    tools: tools.map(({ row }) => ({
      name: row.original_name,
      title: row.title ?? undefined,
      description: row.description ?? undefined,
      annotations: annotationsOf(row.definition),
      inputSchema: row.input_schema,
      skills: row.skill_ids,
    })),
  };
}

function annotationsOf({ annotations }: JsonObject): JsonObject | undefined {
  return isObject(annotations) ? annotations : undefined;
}
