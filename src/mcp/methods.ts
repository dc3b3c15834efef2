/** Every method of the endpoint, once for both eras: what lists hold, where requests go. */
import type { CatalogTool } from '../catalog/catalog.ts';
import { listMethods } from '../catalog/discover.ts';
import { argumentAt, markedParameters } from '../catalog/parameter-headers.ts';
import type { Changes } from '../changes.ts';
import { decodeHeader, isObject, type JsonObject, rpcCodes } from '../json-rpc.ts';
import { memberOf, type Result, toObject } from '../raw-result.ts';
import type { Server } from '../registry/registry.ts';
import type { Router } from '../routing/router.ts';
import { requireRole } from '../security/policy.ts';
import { ProtocolError } from './adapt-result.ts';
import type { Bridge } from './bridge.ts';
import { capabilitiesOf } from './capabilities.ts';
import { tokensOfAll, tokensOfList } from './list-tokens.ts';
import { createListings, type ListingDependencies } from './listings.ts';
import type { McpCall, Peer } from './peer.ts';
import { createResourceMethods } from './resource-methods.ts';
import type { Scope } from './scope.ts';
import type { TaskIds } from './task-ids.ts';
import { createTaskMethods } from './task-methods.ts';

export interface Methods {
  knows(peer: Peer, method: string): boolean;
  handle(call: McpCall): Promise<Result> | Result;
  capabilities(scope: Scope, era: Peer['era']): JsonObject;
  instructions(scope: Scope): string | undefined;
}

interface MethodDependencies extends ListingDependencies {
  changes: Changes;
  router: Router;
  bridge: Bridge;
  taskIds: TaskIds;
}

type Handler = (call: McpCall) => Promise<Result> | Result;

export function createMethods(deps: MethodDependencies): Methods {
  const { router, bridge, owners, gatewayTools } = deps;
  const listings = createListings(deps);
  const resources = createResourceMethods(deps);
  const tasks = createTaskMethods(deps);

  // A map, because clients name the method: an object would also answer to `toString`.
  const handlers = new Map<string, Handler>(
    Object.entries<Handler>({
      'tools/list': listTools,
      'tools/call': callTool,
      'prompts/list': listings.prompts,
      'prompts/get': getPrompt,
      'resources/list': listings.resources,
      'resources/templates/list': listings.resourceTemplates,
      'resources/read': readResource,
      'resources/directory/read': resources.readDirectory,
      'skills/list': listings.skills,
      'skills/get': resources.getSkill,
      'completion/complete': resources.complete,
      'tasks/get': tasks.relay,
      'tasks/update': tasks.relay,
      'tasks/cancel': tasks.relay,
    }),
  );

  function listTools(call: McpCall): JsonObject {
    const list = listings.tools(call);
    const { scope } = call.caller;
    if (scope.searchOnly()) {
      const tokens_after = tokensOfList(list.tools as JsonObject[]);
      deps.changes.publish('tools.listed', { tokens_before: tokensOfAll(scope), tokens_after });
    }
    return list;
  }

  async function callTool(call: McpCall): Promise<Result> {
    const { caller, params, headers } = call;
    if (typeof params.name !== 'string')
      throw new ProtocolError(rpcCodes.invalidParams, 'params.name must be a string');
    if (params.arguments !== undefined && !isObject(params.arguments)) {
      throw new ProtocolError(rpcCodes.invalidParams, 'params.arguments must be an object');
    }
    const own = caller.scope.single === undefined ? gatewayTools.find(params.name) : undefined;
    if (own !== undefined) return await own.call(call, callTool);

    const tool = caller.scope.findTool(params.name);
    // Our own front for clients on stdio has no headers to repeat parameters in.
    if (caller.era === 'modern' && headers !== undefined && headers['mcp-aggregator-front'] === undefined)
      checkParameterHeaders(headers, tool.row.input_schema, params.arguments);
    const result = await send(call, tool.server, params, tool);
    return memberOf(result, 'resultType') === 'task' ? tasks.toOutside(caller, tool.server, toObject(result)) : result;
  }

  async function send(call: McpCall, server: Server, params: JsonObject, tool?: CatalogTool): Promise<Result> {
    const { scope, principal } = call.caller;
    return owners.present(scope, server, await bridge.send({ ...call, server, params, tool }), principal);
  }

  async function getPrompt(call: McpCall): Promise<Result> {
    const { params, caller } = call;
    if (typeof params.name !== 'string')
      throw new ProtocolError(rpcCodes.invalidParams, 'params.name must be a string');
    const { server, key } = caller.scope.findPrompt(params.name);
    return await send(call, server, { ...params, name: key });
  }

  async function readResource(call: McpCall): Promise<Result> {
    const { server, params } = resources.locate(call);
    return await send(call, server, params);
  }

  /** One server's own endpoint passes on what we do not know: extensions, methods of revisions to come. */
  function passOnUnknown({ single }: Scope, method: string): Handler {
    if (single === undefined || perHop.has(method)) throw unknownMethod(method);
    return (call) => router.relay({ ...call, server: single, ask: undefined, pause: undefined });
  }

  return {
    knows: ({ scope }, method) => handlers.has(method) || (scope.single !== undefined && !perHop.has(method)),

    handle(call) {
      const { method, caller } = call;
      // Tasks of 2025-11-25 are offered to no client (MCP-008).
      if (caller.era === 'legacy' && method.startsWith('tasks/')) throw unknownMethod(method);
      const handler = handlers.get(method) ?? passOnUnknown(caller.scope, method);
      // Every role may list; requests that reach a server require the role caller.
      if (!listMethods.includes(method)) requireRole(caller.principal, 'caller');
      return handler(call);
    },

    capabilities: (scope, era) => capabilitiesOf(scope, deps.listServers().filter(scope.sees), era),

    instructions(scope) {
      if (scope.single !== undefined) return scope.single.instructions ?? undefined;
      return gatewayTools.instructions(scope);
    },
  };
}

function unknownMethod(method: string): ProtocolError {
  return new ProtocolError(rpcCodes.methodNotFound, `Method not found: ${method}`, { status: 404 });
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
function checkParameterHeaders(headers: NonNullable<McpCall['headers']>, schema: JsonObject, args: unknown): void {
  for (const { header, path } of markedParameters(schema) ?? []) {
    const expected = argumentAt(args, path);
    const sent = headers[`mcp-param-${header.toLowerCase()}`];
    if ((sent === undefined ? undefined : decodeHeader(String(sent))) === expected) continue;
    throw new ProtocolError(rpcCodes.headerMismatch, `Header Mcp-Param-${header} does not match the body`, {
      status: 400,
    });
  }
}
