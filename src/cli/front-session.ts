/** The session that a client on stdin began, as a value: what it takes to replace it without the client noticing. */
import type { RpcMessage, RpcRequest } from '../json-rpc.ts';
import { toObject } from '../raw-result.ts';

export interface FrontSession {
  readonly initialize: RpcRequest;
  /** Undefined for an endpoint that gave none. */
  readonly id: string | undefined;
  readonly version: string;
  /** Subscriptions and settings of the session, repeated when it is replaced. */
  readonly wishes: ReadonlyMap<string, RpcRequest>;
}

/** The session after an answer to `initialize`; undefined where it was refused. */
export function beginSession(
  before: FrontSession | undefined,
  initialize: RpcRequest,
  { answer, id }: { answer: RpcMessage; id: string | undefined },
): FrontSession | undefined {
  if (!('result' in answer)) return undefined;
  return {
    initialize,
    id,
    version: String(toObject(answer.result).protocolVersion),
    wishes: before?.initialize === initialize ? before.wishes : new Map(),
  };
}

/** The session after a request that succeeded. */
export function recordWish(session: FrontSession, request: RpcRequest): FrontSession {
  const { method, params } = request;
  const wishes = new Map(session.wishes);
  switch (method) {
    case 'logging/setLevel':
      wishes.set(method, request);
      break;
    case 'resources/subscribe':
      wishes.set(`subscribe ${params?.uri}`, request);
      break;
    case 'resources/unsubscribe':
      wishes.delete(`subscribe ${params?.uri}`);
      break;
    default:
      return session;
  }
  return { ...session, wishes };
}
