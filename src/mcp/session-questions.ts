/** What servers ask a legacy client: on the stream of the call that asks, or on one that belongs to no call. */
import type { Cancellation } from '../cancellation.ts';
import type { JsonObject, RpcFailure, RpcSuccess } from '../json-rpc.ts';
import { createClientRequests } from './client-requests.ts';
import { createClientRoots } from './client-roots.ts';
import type { Outlet, SessionStreams } from './session-streams.ts';

export interface SessionQuestions {
  duringCall(
    on: { send: Outlet['send']; call: Cancellation },
    method: string,
    params: JsonObject,
    signal: AbortSignal | undefined,
  ): Promise<JsonObject>;
  outsideCalls(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject>;
  handleAnswer(response: RpcSuccess | RpcFailure): void;
  /** A stream opened on which the client can be asked. */
  handleStream(send: Outlet['send']): void;
  handleRootsChanged(): void;
  /** Those of one call, or all. */
  withdraw(of?: Cancellation): void;
}

export function createSessionQuestions(
  capabilities: () => JsonObject,
  streams: Pick<SessionStreams, 'standalone' | 'isListening'>,
): SessionQuestions {
  const { standalone } = streams;
  const requests = createClientRequests(capabilities);
  const roots = createClientRoots({
    capabilities,
    ask: (send, options) => requests.ask(send, 'roots/list', {}, options),
    openStream: () => (streams.isListening ? standalone.send : undefined),
  });

  return {
    duringCall: ({ send, call }, method, params, signal) =>
      method === 'roots/list'
        ? roots.duringCall(send, call, signal)
        : requests.ask(send, method, params, { signal, call }),
    outsideCalls: (method, params, signal) =>
      method === 'roots/list' ? roots.outsideCalls(signal) : requests.ask(standalone.send, method, params, { signal }),
    handleAnswer: requests.settle,
    handleStream: roots.handleStream,
    handleRootsChanged: roots.invalidate,
    withdraw: requests.withdraw,
  };
}
