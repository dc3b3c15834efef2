/** Questions of servers to clients: what a client can answer, and how it sees which server asks. */
import { RpcError } from '../errors.ts';
import { isObject, type JsonObject, rpcCodes } from '../json-rpc.ts';
import { jsonSize } from '../json-size.ts';
import type { Server } from '../registry/registry.ts';
import type { ServerCall } from './peer.ts';

export const capabilityOf = new Map([
  ['sampling/createMessage', 'sampling'],
  ['elicitation/create', 'elicitation'],
  ['roots/list', 'roots'],
]);

const askable = [...capabilityOf.values()];

export function canAnswer(capabilities: JsonObject): boolean {
  return askable.some((capability) => capabilities[capability] !== undefined);
}

const maxQuestions = 100;

/** Before a client is asked once more. */
export function requireRoom(unanswered: number): void {
  if (unanswered >= maxQuestions)
    throw new RpcError(rpcCodes.internalError, 'Too many unanswered requests to the client');
}

const maxKeptRootsBytes = 65_536;

/** Roots of any length are passed on; to hold them for every client, they have to be of a usual length. */
export const mayKeepRoots = (roots: JsonObject): boolean =>
  jsonSize(roots, maxKeptRootsBytes).bytes <= maxKeptRootsBytes;

const askedBy = 'mcp-aggregator/server';

/** Clients show who asks, and behind us they see only us: the message says whose question it is. */
export function nameServer(method: string, params: JsonObject, { caller, server }: ServerCall): JsonObject {
  if (caller.scope.single !== undefined) return params;
  if (method === 'elicitation/create') return { ...params, message: withServer(server, params.message) };
  return { ...params, _meta: { ...(isObject(params._meta) ? params._meta : {}), [askedBy]: server.name } };
}

/** The same for the questions in a result of the new era. */
export function nameServerInResult(result: JsonObject, call: ServerCall): JsonObject {
  if (!isObject(result.inputRequests)) return result;
  const named = Object.entries(result.inputRequests).map(([key, request]) => {
    if (!isObject(request)) return [key, request];
    const params = isObject(request.params) ? request.params : {};
    return [key, { ...request, params: nameServer(String(request.method), params, call) }];
  });
  return { ...result, inputRequests: Object.fromEntries(named) };
}

/** And for the addresses in the error «open this first». */
export function nameServerInError(error: unknown, { caller, server }: ServerCall): unknown {
  if (!(error instanceof RpcError) || error.code !== rpcCodes.urlElicitationRequired) return error;
  if (caller.scope.single !== undefined) return error;
  const data = isObject(error.data) ? error.data : {};
  const elicitations = (Array.isArray(data.elicitations) ? data.elicitations : [])
    .filter(isObject)
    .map((one) => ({ ...one, message: withServer(server, one.message) }));
  return new RpcError(error.code, withServer(server, error.message), { ...data, elicitations });
}

const withServer = ({ name }: Server, message: unknown) =>
  typeof message === 'string' ? `[${name}] ${message}` : `[${name}]`;
