import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage, isObject, type JsonObject, objectAt, type RpcId, type RpcMessage } from './json-rpc.ts';
import { type Exchange, type InputRequest, type Program, requireClientCapabilities, type Session } from './program.ts';

export const legacyVersions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

/** One legacy connection (2024-11-05 to 2025-11-25), on whatever wire carries its messages. */
export interface LegacyPeer {
  readonly session: Session;
  receive(message: RpcMessage): void;
  close(): void;
}

export interface LegacyWire {
  /** `relatedTo` is the request whose stream the message belongs on; without it, it is unsolicited. */
  send(message: RpcMessage, relatedTo?: RpcId): void;
  pauseStream?(id: RpcId): Promise<void>;
  hangUp(id: RpcId): void;
  shutDown(): void;
}

export function createLegacyPeer(program: Program, wire: LegacyWire, initializeDelayMs = 0): LegacyPeer {
  const session: Session = {
    id: randomUUID(),
    clientCapabilities: {},
    logLevel: undefined,
    subscriptions: new Set(),
  };
  const running = new Map<RpcId, AbortController>();
  const asked = new Map<RpcId, PromiseWithResolvers<JsonObject>>();
  let lastAsked = 0;

  const forward = (method: string, params: JsonObject) => {
    if (method === 'notifications/resources/updated' && !session.subscriptions.has(String(params.uri))) return;
    wire.send({ jsonrpc: '2.0', method, params });
  };
  program.notices.on('notice', forward);

  const own: Record<string, (params: JsonObject) => JsonObject | Promise<JsonObject>> = {
    async initialize(params) {
      if (initializeDelayMs > 0) await sleep(initializeDelayMs);
      session.clientCapabilities = objectAt(params, 'capabilities');
      const asked = String(params.protocolVersion);
      return {
        protocolVersion: legacyVersions.includes(asked) ? asked : legacyVersions[0],
        capabilities: program.capabilities('legacy'),
        serverInfo: program.info,
        ...(program.instructions === undefined ? {} : { instructions: program.instructions }),
      };
    },
    ping: () => ({}),
    'logging/setLevel'(params) {
      session.logLevel = String(params.level);
      return {};
    },
    'resources/subscribe'(params) {
      session.subscriptions.add(String(params.uri));
      return {};
    },
    'resources/unsubscribe'(params) {
      session.subscriptions.delete(String(params.uri));
      return {};
    },
  };

  function exchangeFor(id: RpcId, method: string, params: JsonObject, signal: AbortSignal): Exchange {
    return {
      id,
      era: 'legacy',
      method,
      params,
      session,
      signal,
      inputResponses: {},
      requestState: undefined,
      notify: (method, params) => wire.send({ jsonrpc: '2.0', method, params }, id),
      async ask<Key extends string>(requests: Record<Key, InputRequest>, withdrawn?: AbortSignal) {
        requireClientCapabilities(session, Object.values<InputRequest>(requests));
        const ask = async ([key, request]: [string, InputRequest]) => [key, await askClient(id, request, withdrawn)];
        const answers = await Promise.all(Object.entries<InputRequest>(requests).map(ask));
        return Object.fromEntries(answers);
      },
      pauseStream: async () => await wire.pauseStream?.(id),
      hangUp: () => wire.hangUp(id),
      shutDown: wire.shutDown,
    };
  }

  function askClient(relatedTo: RpcId, request: InputRequest, withdrawn?: AbortSignal): Promise<JsonObject> {
    const id = `ask-${++lastAsked}`;
    const answer = Promise.withResolvers<JsonObject>();
    asked.set(id, answer);
    wire.send({ jsonrpc: '2.0', id, ...request }, relatedTo);
    withdrawn?.addEventListener('abort', () => {
      asked.delete(id);
      wire.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } }, relatedTo);
      answer.reject(new Error('withdrawn'));
    });
    return answer.promise;
  }

  async function answer(id: RpcId, method: string, params: JsonObject): Promise<void> {
    const controller = new AbortController();
    running.set(id, controller);
    try {
      const handler = Object.hasOwn(own, method) ? own[method] : undefined;
      const result = handler
        ? await handler(params)
        : await program.handle(exchangeFor(id, method, params, controller.signal));
      if (!controller.signal.aborted) wire.send({ jsonrpc: '2.0', id, result }, id);
    } catch (error) {
      if (!controller.signal.aborted) wire.send(errorMessage(id, error), id);
    } finally {
      running.delete(id);
    }
  }

  return {
    session,
    receive(message) {
      const { id, method, params = {} } = message;
      if (method === 'notifications/cancelled') running.get(params.requestId as RpcId)?.abort();
      else if (method !== undefined && id != null) void answer(id, method, params);
      else if (method === undefined && id != null) {
        if (message.error) asked.get(id)?.reject(new Error(message.error.message));
        else asked.get(id)?.resolve(isObject(message.result) ? message.result : {});
        asked.delete(id);
      }
    },
    close() {
      program.notices.off('notice', forward);
      for (const controller of running.values()) controller.abort();
      for (const answer of asked.values()) answer.reject(new Error('connection closed'));
    },
  };
}
