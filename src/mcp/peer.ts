/** Who is at the other end of the MCP endpoint, and one request of theirs. Both eras look alike from here on. */
import type { Cancellation } from '../cancellation.ts';
import type { Era, JsonObject } from '../json-rpc.ts';
import type { Caller } from '../routing/call.ts';
import type { Principal } from '../security/auth.ts';
import type { TraceContext } from '../tracing.ts';
import type { Scope } from './scope.ts';

/** So many resources, and so many tasks, may be followed in one session or on one stream. */
export const maxSubscriptions = 1_000;

export interface Peer {
  readonly era: Era;
  readonly protocolVersion: string;
  readonly principal: Principal;
  readonly address: string;
  readonly scope: Scope;
  readonly client: NonNullable<Caller['client']>;
  /** Legacy: the session, which servers that ask questions get a session of their own for. */
  readonly owner?: Caller['owner'];
}

export interface Call {
  readonly method: string;
  readonly peer: Peer;
  readonly cancel: Cancellation;
  /** `Mcp-Param-*` and the like, to be checked and passed on. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
  /** The span that the request belongs to: the client's own, or that of its HTTP request. */
  readonly trace?: TraceContext;
  /** On the stream of this request. */
  notify: (method: string, params: JsonObject) => void;
  /** Legacy: asks the client on the stream of this request. Modern clients are asked by the answer itself. */
  ask?: (method: string, params: JsonObject, signal?: AbortSignal) => Promise<JsonObject>;
  /** 2025-11-25: closes the stream of this request; the client comes back for what follows. */
  pause?: () => void;
}
