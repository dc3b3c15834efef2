/** Requests of servers to one client (sampling, elicitation, roots) that it has not answered yet. */
import type { Cancellation } from '../cancellation.ts';
import { RpcError } from '../errors.ts';
import {
  errorOf,
  type JsonObject,
  keyOf,
  type RpcFailure,
  type RpcMessage,
  type RpcSuccess,
  rpcCodes,
} from '../json-rpc.ts';
import { toObject } from '../raw-result.ts';
import { capabilityOf, requireRoom } from './client-questions.ts';

interface ClientRequests {
  /** Sends the request with `send`; rejects where the client cannot answer, refuses, or the request is withdrawn. */
  ask(
    send: (message: RpcMessage) => void,
    method: string,
    params: JsonObject,
    options?: { signal?: AbortSignal; call?: Cancellation },
  ): Promise<JsonObject>;
  /** An answer of the client; one to an unknown request is ignored. */
  settle(response: RpcSuccess | RpcFailure): void;
  /** Those of one call, or all. */
  withdraw(of?: Cancellation): void;
}

interface PendingRequest {
  /** The call it was asked for, where that is known. */
  call: Cancellation | undefined;
  resolve: (answer: JsonObject) => void;
  reject: (error: Error) => void;
  withdraw: () => void;
}

/** People may have to think. */
const maxAnswerMs = 3_600_000;

export function createClientRequests(capabilities: () => JsonObject): ClientRequests {
  const pending = new Map<string, PendingRequest>();
  let last = 0;

  return {
    async ask(send, method, params, { signal, call } = {}) {
      const capability = capabilityOf.get(method);
      if (capability !== undefined && capabilities()[capability] === undefined)
        throw new RpcError(rpcCodes.methodNotFound, `The client does not support ${capability}`);
      requireRoom(pending.size);
      last += 1;
      const requestId = `ask-${last}`;
      const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
      const withdraw = () => {
        if (!pending.delete(requestId)) return;
        send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason: 'no longer needed' } });
        reject(new RpcError(rpcCodes.internalError, 'The request was cancelled'));
      };
      pending.set(requestId, { call, resolve, reject, withdraw });
      const timer = setTimeout(withdraw, maxAnswerMs).unref();
      signal?.addEventListener('abort', withdraw, { once: true });
      send({ jsonrpc: '2.0', id: requestId, method, params });
      return await promise.finally(() => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', withdraw);
      });
    },

    settle(response) {
      const requestId = String(keyOf(response.id));
      const request = pending.get(requestId);
      pending.delete(requestId);
      const error = errorOf(response);
      if (error !== undefined) request?.reject(new RpcError(error.code, error.message, error.data));
      else if ('result' in response) request?.resolve(toObject(response.result));
    },

    withdraw(of) {
      for (const request of pending.values()) if (of === undefined || request.call === of) request.withdraw();
    },
  };
}
