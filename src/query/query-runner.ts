/** Runs queries for a caller: connects the query with visible servers, tool search and calls. */
import { stat } from 'node:fs/promises';
import type { Catalog } from '../catalog/catalog.ts';
import { seesNamed, type View } from '../catalog/view.ts';
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { isObject, type JsonObject } from '../json-rpc.ts';
import type { Logger } from '../log.ts';
import type { FormFiller, Model } from '../model.ts';
import { memberOf, type Result } from '../raw-result.ts';
import type { Call, ToolCall } from '../routing/call.ts';
import { resolveTool } from '../routing/resolve.ts';
import type { Router } from '../routing/router.ts';
import type { ToolSearch } from '../search/tool-search.ts';
import { noTracer, type Tracer, traced } from '../tracing.ts';
import { collectContext } from './context-agent.ts';
import type { ContextOutput } from './context-tool.ts';
import { type QueryDeps, type QueryServer, type QueryWatch, runQuery } from './query.ts';
import { presentOutput } from './query-output.ts';
import type { QueryOutput } from './query-tool.ts';
import { toExcerpt } from './reading/excerpt.ts';
import { createKnowledge } from './reading/knowledge.ts';
import type { BeginWork, ServerGateway } from './reading/reading-state.ts';
import { parseQuery } from './request.ts';
import { rulesFor, type ServerRule } from './server-rules.ts';
import { describeNamedTools, describeStrategy } from './strategy/describe-strategy.ts';
import { createStrategies, toStrategyTool, visibleStrategy } from './strategy/strategies.ts';

type CatalogServer = Catalog['snapshot']['tools'][number]['server'];

export interface QueryRunner {
  ask(input: unknown, asking: Asking): Promise<QueryOutput>;
  /** Only where a model is configured. */
  collect?(input: unknown, asking: Asking): Promise<ContextOutput>;
  /** How this server is asked, in words, and which of its tools never are. */
  describe(server: CatalogServer, view: View): Promise<ServerStrategy>;
  close(): void;
}

interface ServerStrategy {
  strategy: string[];
  never_called: { tool: string; reason: string }[];
}

/** What a query is asked for: the calls that it makes are this caller's. */
export interface Asking extends Pick<Call, 'caller' | 'requestId' | 'trace' | 'headers'> {
  /** Which servers may be asked, and with which tools. */
  view: View;
  signal: AbortSignal;
  watch?: QueryWatch;
  /** The caller's own model. */
  sampling?: FormFiller;
}

interface QueryRunnerDependencies {
  config: Config;
  catalog: Catalog;
  router: Router;
  toolSearch: ToolSearch;
  changes: Changes;
  log: Logger;
  model?: Model;
  listServers: () => CatalogServer[];
  findServer: (id: string) => CatalogServer | undefined;
  /** How a server is started; credentials in it are not looked at. */
  connectionOf: (serverId: string) => { connection_config: { args?: string[]; cwd?: string } | object };
  listRules: () => readonly ServerRule[];
  tracer?: Tracer;
  beginWork?: BeginWork;
}

export function createQueryRunner(deps: QueryRunnerDependencies): QueryRunner {
  const { config, catalog, router, toolSearch, changes, log, model, tracer = noTracer } = deps;
  const strategies = createStrategies({
    catalog,
    changes,
    readersOf: (id) => deps.findServer(id)?.options.query_readers ?? [],
  });
  const knowledge = createKnowledge();
  const folders = createFolders(deps.connectionOf);
  const off = [
    changes.subscribe('server.discovered', ({ server_id: id, added, changed, removed }) => {
      if (added.length + changed.length + removed.length > 0) knowledge.forget(id);
    }),
    changes.subscribe('server.lists_changed', ({ server_id: id }) => knowledge.forget(id)),
    changes.subscribe('server.removed', ({ server_id: id }) => {
      knowledge.forget(id);
      folders.forget(id);
    }),
  ];

  function common(asking: Asking): Omit<QueryDeps, 'rules' | 'limits'> {
    const { caller, view } = asking;
    const servers = deps.listServers().filter(({ name }) => view.server(name));
    const byName = new Map(servers.map((server) => [server.name, server]));
    return {
      servers: () => Promise.all(servers.map((server) => toQueryServer(deps.findServer(server.id) ?? server, view))),
      async findTools(query, names, limit) {
        const request = { query, limit, serverFilter: [...names], isVisible: seesNamed(view, catalog) };
        const { tools } = await toolSearch.search(request, undefined, asking.trace);
        return tools.map(({ tool, score }) => ({ server: tool.server, tool: tool.originalName, score }));
      },
      gateway: (name) => gatewayTo(byName.get(name), asking),
      knowledge: (name) => knowledge.of(caller.principal.id, byName.get(name)?.id ?? name),
      lexicon: toolSearch.lexicon,
      embed: (texts) => toolSearch.embed(texts),
      threshold: config.queryDuplicateThreshold,
      beginWork: deps.beginWork,
      model,
    };
  }

  async function visibleTo(
    server: CatalogServer,
    view: View,
  ): Promise<Pick<QueryServer, 'tools' | 'strategy' | 'queryTools'>> {
    const visible = (catalog.snapshot.toolsByServer.get(server.id) ?? []).filter(view.tool);
    const names = new Set(visible.map(({ row }) => row.original_name));
    return {
      tools: visible.map(({ row }) => toStrategyTool(row)),
      strategy: visibleStrategy(await strategies.of(server.id), (tool) => names.has(tool)),
      queryTools: server.options.query_tools,
    };
  }

  async function toQueryServer(server: CatalogServer, view: View): Promise<QueryServer> {
    const { status } = server.lifecycle;
    return {
      name: server.name,
      ...(status === 'CONNECTED' || status === 'DEGRADED' ? {} : { unavailable: `not connected: ${status}` }),
      ...(await visibleTo(server, view)),
      title: titleOf(server),
      folders: server.transport_type === 'STDIO' ? await folders.of(server) : [],
      isLocal: server.transport_type === 'STDIO',
    };
  }

  function gatewayTo(server: CatalogServer | undefined, asking: Asking): ServerGateway {
    const { caller, requestId, trace, headers, view } = asking;
    const from = { caller, requestId, trace, headers };
    const relay = async (method: string, params: JsonObject, signal: AbortSignal): Promise<Result> => {
      if (server === undefined) throw new Error('no such server');
      return await router.relay({ ...from, server, method, params, signal });
    };
    return {
      async callTool(name, args, signal) {
        const { tool } = resolveTool(catalog.snapshot, { name, server, view });
        const params = { name, arguments: args };
        const call: ToolCall = { ...from, server: tool.server, tool, method: 'tools/call', params, signal };
        return await toExcerpt((await router.callTool(call)).result);
      },
      readResource: (uri, signal) => relay('resources/read', { uri }, signal).then(toExcerpt),
      async complete({ uriTemplate, variable, value, filled }, signal) {
        const ref = { type: 'ref/resource', uri: uriTemplate };
        const params = { ref, argument: { name: variable, value }, context: { arguments: { ...filled } } };
        const completion = memberOf(await relay('completion/complete', params, signal), 'completion');
        const values = isObject(completion) && Array.isArray(completion.values) ? completion.values : [];
        return values.filter((found) => typeof found === 'string');
      },
    };
  }

  /** a server that fails is logged, the others answer. */
  function logFailures(watch: QueryWatch | undefined): QueryWatch {
    return {
      onPlan: watch?.onPlan,
      onServer(report) {
        const { server, error, ms } = report;
        if (error !== undefined) log.warn({ server, error, duration_ms: ms }, 'server did not answer a query');
        watch?.onServer(report);
      },
    };
  }

  return {
    async ask(input, asking) {
      const { signal, watch, sampling } = asking;
      const span = { name: 'query', parent: asking.trace, attributes: queryAttributes };
      const output = await traced(tracer, span, async (trace) => {
        const started = performance.now();
        await toolSearch.lexicon.load();
        const query = {
          ...common({ ...asking, trace }),
          rules: rulesFor(deps.listRules(), asking.view.server),
          sampling,
        };
        const full = await runQuery({ ...query, watch: logFailures(watch) }, input, signal);
        const { tokensRaw: tokens_before = 0, tokensReturned: tokens_after = 0 } = full.metadata;
        changes.publish('query.finished', { ms: performance.now() - started, tokens_before, tokens_after });
        return full;
      });
      return presentOutput(output, parseQuery(input).compact);
    },
    collect:
      model === undefined
        ? undefined
        : (input, asking) =>
            traced(
              tracer,
              { name: 'query.context', parent: asking.trace, attributes: contextAttributes },
              async (trace) =>
                await collectContext(
                  { ...common({ ...asking, trace }), rules: rulesFor(deps.listRules(), asking.view.server), model },
                  input,
                  asking.signal,
                ),
            ),
    async describe(server, view) {
      const { queryTools = [], strategy } = await visibleTo(server, view);
      if (queryTools.length > 0) return { strategy: describeNamedTools(queryTools), never_called: [] };
      return { strategy: describeStrategy(strategy), never_called: [...strategy.leftOut] };
    },
    close() {
      for (const end of off) end();
      strategies.close();
    },
  };
}

function titleOf({ server_info: info, description }: CatalogServer): string {
  const named = [info?.title, info?.name].filter((name) => typeof name === 'string');
  return [...named, description ?? ''].join(' ').slice(0, 200);
}

/** Folders in a server's command line: where it works, unless it is told otherwise. */
function createFolders(connectionOf: QueryRunnerDependencies['connectionOf']) {
  const known = new Map<string, { at: string; folders: Promise<string[]> }>();
  return {
    of({ id, updated_at: at }: CatalogServer): Promise<string[]> {
      const before = known.get(id);
      if (before?.at === at) return before.folders;
      const folders = findFolders(connectionOf(id).connection_config);
      known.set(id, { at, folders });
      return folders;
    },
    forget: (id: string) => void known.delete(id),
  };
}

async function findFolders(config: object): Promise<string[]> {
  const args =
    'args' in config && Array.isArray(config.args) ? config.args.filter((arg) => typeof arg === 'string') : [];
  const cwd = 'cwd' in config && typeof config.cwd === 'string' ? [config.cwd] : [];
  const paths = [...args.map((arg) => arg.slice(arg.startsWith('-') ? arg.indexOf('=') + 1 : 0)), ...cwd].filter(
    (path) => path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path),
  );
  const checked = await Promise.all(paths.map(async (path) => ((await isFolder(path)) ? [path] : [])));
  return [...new Set(checked.flat())];
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    // Not on this machine, or not ours to see: then it is no help.
    return false;
  }
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
