/** Every method of the endpoint, once for both eras: what lists hold, where requests go. */
import type { Catalog, CatalogItem } from '../catalog/catalog.ts';
import { type Kind, listMethods } from '../catalog/discover.ts';
import { argumentAt, markedParameters } from '../catalog/parameter-headers.ts';
import { decodeHeader, isObject, type JsonObject, rpcCodes } from '../json-rpc.ts';
import { memberOf, RawResult, type Result, toObject } from '../raw-result.ts';
import type { Server } from '../registry/registry.ts';
import type { CallResult, Router } from '../routing/call.ts';
import { requireRole } from '../security/policy.ts';
import { adaptTool, missingCapability, ProtocolError } from './adapt-result.ts';
import { type Bridge, callerOf, nameQuestions, type Send } from './bridge.ts';
import type { GatewayTools } from './gateway-tools.ts';
import { createLogLevels } from './log-levels.ts';
import type { Call, Peer } from './peer.ts';
import type { ResourceOwners } from './resource-owners.ts';
import type { Scope } from './scope.ts';
import type { TaskIds } from './task-ids.ts';

export interface Methods {
  knows(peer: Peer, method: string): boolean;
  handle(call: Call, method: string, params: JsonObject): Promise<Result> | Result;
  capabilities(scope: Scope, era: Peer['era']): JsonObject;
  instructions(scope: Scope): string | undefined;
}

interface MethodDependencies {
  catalog: Catalog;
  router: Router;
  bridge: Bridge;
  owners: ResourceOwners;
  gatewayTools: GatewayTools;
  taskIds: TaskIds;
  listServers: () => Server[];
}

type Handler = (call: Call, params: JsonObject) => Promise<Result> | Result;

const tasksExtension = 'io.modelcontextprotocol/tasks';

export function createMethods(deps: MethodDependencies): Methods {
  const { catalog, router, bridge, owners, gatewayTools } = deps;
  const logLevels = createLogLevels(router);

  // A map, because clients name the method: an object would also answer to `toString`.
  const handlers = new Map<string, Handler>(
    Object.entries<Handler>({
      'tools/list': listTools,
      'tools/call': callTool,
      'prompts/list': ({ peer }, params) =>
        listed(
          peer,
          params,
          'prompt',
          'prompts',
          peer.scope.listItems('prompt').map((item) => ({ ...item.definition, name: peer.scope.promptName(item) })),
        ),
      'prompts/get': getPrompt,
      'resources/list': ({ peer }, params) =>
        listed(
          peer,
          params,
          'resource',
          'resources',
          owners.offered(peer.scope, 'resource').map(({ uri, item }) => ({ ...item.definition, uri })),
        ),
      'resources/templates/list': ({ peer }, params) =>
        listed(
          peer,
          params,
          'resource_template',
          'resourceTemplates',
          owners
            .offered(peer.scope, 'resource_template')
            .map(({ uri, item }) => ({ ...item.definition, uriTemplate: uri })),
        ),
      'resources/read': readResource,
      'completion/complete': complete,
      'tasks/get': relayTask,
      'tasks/update': relayTask,
      'tasks/cancel': relayTask,
    }),
  );

  function listTools({ peer }: Call, params: JsonObject): JsonObject {
    const { scope } = peer;
    const offered = scope.searchOnly() ? [] : scope.listTools();
    const definitions = offered.map(({ name, tool, description }) =>
      adaptTool(peer, { ...tool.row.definition, name, ...(description === undefined ? {} : { description }) }),
    );
    return listed(peer, params, 'tool', 'tools', [...gatewayTools.listed(scope), ...definitions]);
  }

  function listed(peer: Peer, params: JsonObject, kind: Kind, member: string, entries: JsonObject[]): JsonObject {
    // Everything is on the first page, so there is no cursor that we could have given.
    if (params.cursor !== undefined) throw new ProtocolError(rpcCodes.invalidParams, 'Unknown cursor');
    if (peer.era === 'legacy') return { [member]: entries };
    const servers = deps.listServers().filter((server) => peer.scope.sees(server));
    const { ttlMs, cacheScope } = catalog.cacheHints(servers, kind);
    const isFiltered = peer.principal.servers !== null || peer.principal.profile !== null;
    return { [member]: entries, ttlMs, cacheScope: isFiltered ? 'private' : cacheScope };
  }

  async function callTool(call: Call, params: JsonObject): Promise<Result> {
    const { peer } = call;
    if (typeof params.name !== 'string')
      throw new ProtocolError(rpcCodes.invalidParams, 'params.name must be a string');
    if (params.arguments !== undefined && !isObject(params.arguments)) {
      throw new ProtocolError(rpcCodes.invalidParams, 'params.arguments must be an object');
    }
    const own = peer.scope.single === undefined ? gatewayTools.find(params.name) : undefined;
    if (own !== undefined) {
      // The headers mirror the parameters of the tool that the client named, which is ours.
      const within = { ...call, headers: undefined };
      return await own.call(call, params, (inner) => callTool(within, { ...params, ...inner }));
    }

    const tool = peer.scope.findTool(params.name);
    // Our own front for clients on stdio has no headers to repeat parameters in.
    if (peer.era === 'modern' && call.headers !== undefined && call.headers['mcp-aggregator-front'] === undefined)
      checkParameterHeaders(call.headers, tool.row.input_schema, params.arguments);
    const result = await passOn(call, tool.server, 'tools/call', params, (sent, caller, exchange) =>
      router.callTool(tool, sent, caller, exchange).then(withWarning),
    );
    remember(call, tool.server, result);
    return memberOf(result, 'resultType') === 'task' ? withTask(peer, tool.server, toObject(result)) : result;
  }

  function passOn(call: Call, server: Server, method: string, params: JsonObject, send: Send): Promise<Result> {
    return bridge.run(call, server, method, params, (sent, caller, exchange) => {
      const setting = logLevels.ensure(caller, server);
      return setting === undefined ? send(sent, caller, exchange) : setting.then(() => send(sent, caller, exchange));
    });
  }

  /** Whose the resources are that a result speaks of. */
  function remember({ peer }: Call, server: Server, result: Result): Result {
    if (peer.scope.single === undefined) owners.remember(server, result, peer.principal);
    return result;
  }

  const relayTo =
    (server: Server, method: string): Send =>
    (params, caller, exchange) =>
      router.relay(server, method, params, caller, exchange);

  async function getPrompt(call: Call, params: JsonObject): Promise<Result> {
    if (typeof params.name !== 'string')
      throw new ProtocolError(rpcCodes.invalidParams, 'params.name must be a string');
    const { server, key }: CatalogItem = call.peer.scope.findPrompt(params.name);
    const named = { ...params, name: key };
    return remember(call, server, await passOn(call, server, 'prompts/get', named, relayTo(server, 'prompts/get')));
  }

  async function readResource(call: Call, params: JsonObject): Promise<Result> {
    if (typeof params.uri !== 'string') throw new ProtocolError(rpcCodes.invalidParams, 'params.uri must be a string');
    const { server, uri } = owners.find(call.peer.scope, params.uri, call.peer.principal);
    const named = { ...params, uri };
    return remember(
      call,
      server,
      await passOn(call, server, 'resources/read', named, relayTo(server, 'resources/read')),
    );
  }

  async function complete(call: Call, params: JsonObject): Promise<Result> {
    const { scope } = call.peer;
    const ref = isObject(params.ref) ? params.ref : {};
    if (ref.type === 'ref/prompt' && typeof ref.name === 'string') {
      const prompt = scope.findPrompt(ref.name);
      return await relayTo(prompt.server, 'completion/complete')(
        { ...params, ref: { ...ref, name: prompt.key } },
        callerOf(call),
        { cancel: call.cancel },
      );
    }
    if (ref.type === 'ref/resource' && typeof ref.uri === 'string') {
      const { server, uri } = owners.find(scope, ref.uri, call.peer.principal);
      return await relayTo(server, 'completion/complete')({ ...params, ref: { ...ref, uri } }, callerOf(call), {
        cancel: call.cancel,
      });
    }
    throw new ProtocolError(
      rpcCodes.invalidParams,
      'params.ref must be a ref/prompt with a name or a ref/resource with a uri',
    );
  }

  function withTask(peer: Peer, server: Server, result: JsonObject): JsonObject {
    if (typeof result.taskId !== 'string') return result;
    return { ...result, taskId: deps.taskIds.outside(peer, server, result.taskId) };
  }

  async function relayTask(call: Call, params: JsonObject): Promise<JsonObject> {
    const { extensions } = call.peer.client.capabilities;
    if (!isObject(extensions) || extensions[tasksExtension] === undefined)
      throw missingCapability(`The client must declare the extension ${tasksExtension}`, {
        extensions: { [tasksExtension]: {} },
      });
    const task = deps.taskIds.find(call.peer, String(params.taskId));
    if (task === undefined)
      throw new ProtocolError(rpcCodes.invalidParams, 'Unknown task', { data: { taskId: params.taskId } });
    const { server, taskId } = task;
    const known = (said: JsonObject) => {
      const named = nameQuestions(said, server, call);
      return said.taskId === taskId ? { ...named, taskId: params.taskId } : named;
    };
    const result = await router.relay(server, call.method, { ...params, taskId }, callerOf(call), {
      cancel: call.cancel,
      onNotification: (method, notice) => call.notify(method, known(notice)),
    });
    return known(toObject(result));
  }

  /** One server's own endpoint passes on what we do not know: extensions, methods of revisions to come. */
  function passOnUnknown({ single }: Scope, method: string): Handler {
    if (single === undefined || perHop.has(method))
      throw new ProtocolError(rpcCodes.methodNotFound, `Method not found: ${method}`, { status: 404 });
    return (call, params) =>
      router.relay(single, method, params, callerOf(call), { cancel: call.cancel, onNotification: call.notify });
  }

  return {
    knows: ({ scope, era }, method) =>
      handlers.has(method) && (era === 'modern' || !method.startsWith('tasks/'))
        ? true
        : scope.single !== undefined && !perHop.has(method),

    handle(call, method, params) {
      const handler = handlers.get(method) ?? passOnUnknown(call.peer.scope, method);
      // Lists are for everybody; whatever reaches a server is not.
      if (!listMethods.includes(method)) requireRole(call.peer.principal, 'caller');
      return handler(call, params);
    },

    capabilities(scope, era) {
      const ours = {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        completions: {},
        logging: {},
      };
      if (scope.single === undefined) {
        return era === 'modern' ? { ...ours, extensions: { [tasksExtension]: {} } } : ours;
      }
      const theirs = scope.single.capabilities ?? {};
      const kept = Object.entries(ours).filter(([name]) => theirs[name] !== undefined);
      const extensions = era === 'modern' && theirs.extensions !== undefined ? { extensions: theirs.extensions } : {};
      const experimental = theirs.experimental === undefined ? {} : { experimental: theirs.experimental };
      return { ...Object.fromEntries(kept), ...extensions, ...experimental };
    },

    instructions(scope) {
      if (scope.single !== undefined) return scope.single.instructions ?? undefined;
      return gatewayTools.instructions(scope);
    },
  };
}

function withWarning({ result, warning }: CallResult): Result {
  if (warning === undefined) return result;
  const meta = memberOf(result, '_meta');
  const warned = { ...(isObject(meta) ? meta : {}), 'mcp-aggregator/warning': warning };
  return result instanceof RawResult
    ? result.withChanges({ _meta: JSON.stringify(warned) })
    : { ...result, _meta: warned };
}

/** Methods that concern one hop only and are never passed on. */
const perHop = new Set([
  'initialize',
  'ping',
  'server/discover',
  'subscriptions/listen',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/list',
  'tasks/result',
]);

/** Routers before us act on these headers, so they must say what the body says. */
function checkParameterHeaders(headers: NonNullable<Call['headers']>, schema: JsonObject, args: unknown): void {
  for (const { header, path } of markedParameters(schema) ?? []) {
    const expected = argumentAt(args, path);
    const sent = headers[`mcp-param-${header.toLowerCase()}`];
    if ((sent === undefined ? undefined : decodeHeader(String(sent))) === expected) continue;
    throw new ProtocolError(rpcCodes.headerMismatch, `Header Mcp-Param-${header} does not match the body`, {
      status: 400,
    });
  }
}
