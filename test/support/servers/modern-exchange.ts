import { errorCodes, isObject, type JsonObject, objectAt, RpcError, type RpcId, type RpcMessage } from './json-rpc.ts';
import { type Exchange, type InputRequest, InputRequired, type Program, requireClientCapabilities } from './program.ts';

export const modernVersion = '2026-07-28';
const metaKey = (name: string) => `io.modelcontextprotocol/${name}`;

export interface ModernWire {
  signal: AbortSignal;
  notify(message: RpcMessage): void;
  hangUp(): void;
  shutDown(): void;
}

export interface ModernRequest extends RpcMessage {
  id: RpcId;
  method: string;
}

export function isModern(message: RpcMessage): boolean {
  return objectAt(message.params, '_meta')[metaKey('protocolVersion')] !== undefined;
}

/** Every request carries its own version and capabilities; without them it is malformed. */
export function checkEnvelope(message: RpcMessage): void {
  const meta = objectAt(message.params, '_meta');
  const version = meta[metaKey('protocolVersion')];
  if (message.method === 'initialize' && version === undefined) throw unsupported(message.params?.protocolVersion);
  if (typeof version !== 'string') throw invalid('params._meta lacks io.modelcontextprotocol/protocolVersion');
  if (version !== modernVersion) throw unsupported(version);
  if (!isObject(meta[metaKey('clientCapabilities')])) {
    throw invalid('params._meta lacks io.modelcontextprotocol/clientCapabilities');
  }
}

const invalid = (message: string) => new RpcError(errorCodes.invalidParams, message);
const unsupported = (requested: unknown) =>
  new RpcError(errorCodes.unsupportedVersion, 'Unsupported protocol version', {
    supported: [modernVersion],
    requested: requested ?? null,
  });

export function isKnownMethod(program: Program, method: string): boolean {
  return method === 'server/discover' || method === 'subscriptions/listen' || program.handles(method);
}

/** The result of one stateless request (2026-07-28); `subscriptions/listen` lasts until the signal aborts. */
export async function answerModern(program: Program, message: ModernRequest, wire: ModernWire): Promise<JsonObject> {
  checkEnvelope(message);
  const { method, params = {} } = message;
  const finish = (result: JsonObject) => complete(program, method, result);
  if (method === 'server/discover') return finish(discovery(program));
  if (method === 'subscriptions/listen') return finish(await listen(program, message.id, params, wire));
  try {
    return finish(await program.handle(exchangeFor(message, params, wire)));
  } catch (error) {
    if (!(error instanceof InputRequired)) throw error;
    const { requests: inputRequests, requestState } = error;
    return finish({ resultType: 'input_required', inputRequests, ...(requestState ? { requestState } : {}) });
  }
}

function exchangeFor(message: ModernRequest, params: JsonObject, wire: ModernWire): Exchange {
  const meta = objectAt(params, '_meta');
  const logLevel = meta[metaKey('logLevel')];
  const inputResponses = objectAt(params, 'inputResponses');
  const session = {
    id: 'stateless',
    clientCapabilities: objectAt(meta, metaKey('clientCapabilities')),
    logLevel: typeof logLevel === 'string' ? logLevel : undefined,
    subscriptions: new Set<string>(),
  };
  return {
    id: message.id,
    era: 'modern',
    method: message.method,
    params,
    session,
    signal: wire.signal,
    inputResponses,
    requestState: typeof params.requestState === 'string' ? params.requestState : undefined,
    notify: (method, params) => wire.notify({ jsonrpc: '2.0', method, params }),
    async ask<Key extends string>(requests: Record<Key, InputRequest>) {
      requireClientCapabilities(session, Object.values<InputRequest>(requests));
      const answers: Partial<Record<Key, JsonObject>> = {};
      for (const key in requests) {
        const answer = inputResponses[key];
        if (!isAnswerTo(requests[key], answer)) throw new InputRequired(requests);
        answers[key] = answer;
      }
      return answers as Record<Key, JsonObject>; // every key was filled by the loop
    },
    pauseStream: () => Promise.resolve(), // a broken modern stream loses the request, so there is nothing to come back to
    hangUp: wire.hangUp,
    shutDown: wire.shutDown,
  };
}

/** Wrong or missing input is asked for again rather than refused. */
function isAnswerTo(request: InputRequest, answer: unknown): answer is JsonObject {
  if (!isObject(answer)) return false;
  if (request.method === 'roots/list') return Array.isArray(answer.roots);
  if (request.method === 'sampling/createMessage') return answer.content !== undefined;
  return typeof answer.action === 'string';
}

function discovery(program: Program): JsonObject {
  return {
    supportedVersions: [modernVersion],
    capabilities: program.capabilities('modern'),
    ...(program.instructions === undefined ? {} : { instructions: program.instructions }),
  };
}

const listChanges = {
  'notifications/tools/list_changed': 'toolsListChanged',
  'notifications/prompts/list_changed': 'promptsListChanged',
  'notifications/resources/list_changed': 'resourcesListChanged',
} as const;

async function listen(program: Program, id: RpcId, params: JsonObject, wire: ModernWire): Promise<JsonObject> {
  const filter = objectAt(params, 'notifications');
  const tag = { [metaKey('subscriptionId')]: id };
  const send = (method: string, params: JsonObject) =>
    wire.notify({ jsonrpc: '2.0', method, params: { ...params, _meta: tag } });
  const forward = (method: string, params: JsonObject) => {
    if (isWanted(filter, method, params)) send(method, params);
  };

  send('notifications/subscriptions/acknowledged', { notifications: filter });
  program.notices.on('notice', forward);
  await aborted(wire.signal);
  program.notices.off('notice', forward);
  return { _meta: tag };
}

function isWanted(filter: JsonObject, method: string, params: JsonObject): boolean {
  const wanted = (key: string, value: unknown) => Array.isArray(filter[key]) && filter[key].includes(value);
  if (method === 'notifications/resources/updated') return wanted('resourceSubscriptions', params.uri);
  if (method === 'notifications/tasks') return wanted('taskIds', params.taskId);
  return Object.entries(listChanges).some(([change, key]) => change === method && filter[key] === true);
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

const cacheable = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);

function complete(program: Program, method: string, result: JsonObject): JsonObject {
  return {
    resultType: 'complete',
    ...(cacheable.has(method) ? { ttlMs: 0, cacheScope: 'private' } : {}),
    ...result,
    _meta: { [metaKey('serverInfo')]: program.info, ...objectAt(result, '_meta') },
  };
}
