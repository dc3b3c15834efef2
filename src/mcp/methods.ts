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
import { missingCapability, ProtocolError } from './adapt-result.ts';
import type { Bridge } from './bridge.ts';
import { nameServerInResult } from './client-questions.ts';
import { tokensOfAll, tokensOfList } from './list-tokens.ts';
import { createListings, type ListingDependencies } from './listings.ts';
import type { McpCall, Peer } from './peer.ts';
import type { Scope } from './scope.ts';
import { skillsCapability, skillsExtension, withSkillAddresses } from './skills.ts';
import type { TaskIds } from './task-ids.ts';

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

const tasksExtension = 'io.modelcontextprotocol/tasks';

export function createMethods(deps: MethodDependencies): Methods {
  const { router, bridge, owners, gatewayTools } = deps;
  const listings = createListings(deps);

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
      'resources/directory/read': readDirectory,
      'skills/list': listings.skills,
      'skills/get': getSkill,
      'completion/complete': complete,
      'tasks/get': relayTask,
      'tasks/update': relayTask,
      'tasks/cancel': relayTask,
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
    return memberOf(result, 'resultType') === 'task' ? withTask(caller, tool.server, toObject(result)) : result;
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
    const { params, caller } = call;
    if (typeof params.uri !== 'string') throw new ProtocolError(rpcCodes.invalidParams, 'params.uri must be a string');
    const { server, uri } = owners.find(caller.scope, params.uri, caller.principal);
    return await send(call, server, { ...params, uri });
  }

  async function getSkill(call: McpCall): Promise<JsonObject> {
    const { server, result } = await relayFile(call);
    const { scope } = call.caller;
    const { skill } = result;
    return isObject(skill)
      ? { ...result, skill: withSkillAddresses(skill, owners.addressesOf(scope, server)) }
      : result;
  }

  async function readDirectory(call: McpCall): Promise<JsonObject> {
    const { server, result } = await relayFile(call);
    const addressOf = owners.addressesOf(call.caller.scope, server);
    return { ...result, resources: withSkillAddresses({ resources: result.resources }, addressOf).resources };
  }

  /** A request about one file of a server, which its `uri` names. */
  async function relayFile(call: McpCall): Promise<{ server: Server; result: JsonObject }> {
    const { params, caller } = call;
    if (typeof params.uri !== 'string') throw new ProtocolError(rpcCodes.invalidParams, 'params.uri must be a string');
    const { server, uri } = owners.find(caller.scope, params.uri, caller.principal);
    const quiet = { notify: undefined, ask: undefined, pause: undefined };
    return { server, result: toObject(await router.relay({ ...call, ...quiet, server, params: { ...params, uri } })) };
  }

  async function complete(call: McpCall): Promise<Result> {
    const { params, caller } = call;
    const ref = isObject(params.ref) ? params.ref : {};
    const { server, known } = referred(ref, caller);
    // A completion is requested while a user types: it sends no notifications and asks no questions.
    const quiet = { notify: undefined, ask: undefined, pause: undefined };
    return await router.relay({ ...call, ...quiet, server, params: { ...params, ref: { ...ref, ...known } } });
  }

  /** What a completion is about, as its server knows it. */
  function referred({ type, name, uri }: JsonObject, { scope, principal }: Peer) {
    if (type === 'ref/prompt' && typeof name === 'string') {
      const prompt = scope.findPrompt(name);
      return { server: prompt.server, known: { name: prompt.key } };
    }
    if (type === 'ref/resource' && typeof uri === 'string') {
      const owner = owners.find(scope, uri, principal);
      return { server: owner.server, known: { uri: owner.uri } };
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

  async function relayTask(call: McpCall): Promise<JsonObject> {
    const { caller, params } = call;
    const { extensions } = caller.client.capabilities;
    if (!isObject(extensions) || extensions[tasksExtension] === undefined)
      throw missingCapability(`The client must declare the extension ${tasksExtension}`, {
        extensions: { [tasksExtension]: {} },
      });
    const task = deps.taskIds.find(caller, String(params.taskId));
    if (task === undefined)
      throw new ProtocolError(rpcCodes.invalidParams, 'Unknown task', { data: { taskId: params.taskId } });
    const { server, taskId } = task;
    const known = (said: JsonObject) => {
      const named = nameServerInResult(said, { ...call, server });
      return said.taskId === taskId ? { ...named, taskId: params.taskId } : named;
    };
    const result = await router.relay({
      ...call,
      server,
      params: { ...params, taskId },
      notify: (method, notice) => call.notify(method, known(notice)),
    });
    return known(toObject(result));
  }

  /** One server's own endpoint passes on what we do not know: extensions, methods of revisions to come. */
  function passOnUnknown({ single }: Scope, method: string): Handler {
    if (single === undefined || perHop.has(method))
      throw new ProtocolError(rpcCodes.methodNotFound, `Method not found: ${method}`, { status: 404 });
    return (call) => router.relay({ ...call, server: single, ask: undefined, pause: undefined });
  }

  return {
    knows: ({ scope, era }, method) =>
      handlers.has(method) && (era === 'modern' || !method.startsWith('tasks/'))
        ? true
        : scope.single !== undefined && !perHop.has(method),

    handle(call) {
      const { method, caller } = call;
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

/** What the servers of the scope can do, as far as it passes through us. */
function capabilitiesOf(scope: Scope, servers: readonly Server[], era: Peer['era']): JsonObject {
  const ours = {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: servers.some(canSubscribe), listChanged: true },
    completions: {},
    logging: {},
  };
  const extensions = extensionsOf(scope, servers, era);
  const all = Object.keys(extensions).length === 0 ? ours : { ...ours, extensions };
  if (scope.single === undefined) return all;
  const theirs = scope.single.capabilities ?? {};
  const kept = Object.entries(all).filter(([name]) => theirs[name] !== undefined);
  const experimental = theirs.experimental === undefined ? {} : { experimental: theirs.experimental };
  return { ...Object.fromEntries(kept), ...experimental };
}

const canSubscribe = ({ capabilities }: Server): boolean =>
  isObject(capabilities?.resources) && capabilities.resources.subscribe === true;

/** Of all servers; where two describe the same one, the first description holds. Tasks are ours to translate. */
function extensionsOf({ single }: Scope, servers: readonly Server[], era: Peer['era']): JsonObject {
  const theirs = servers.map(({ capabilities }) => (isObject(capabilities?.extensions) ? capabilities.extensions : {}));
  const { [tasksExtension]: tasks, ...first } = Object.assign({}, ...theirs.toReversed()) as JsonObject;
  const skills = skillsCapability(theirs.map((extensions) => extensions[skillsExtension]));
  const others = skills === undefined ? first : { ...first, [skillsExtension]: skills };
  if (era === 'legacy') return others;
  return single === undefined
    ? { ...others, [tasksExtension]: {} }
    : { ...others, ...(tasks === undefined ? {} : { [tasksExtension]: tasks }) };
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
