/** One request of a caller, in the same shape from the endpoint to the session: each step adds what it found out. */
import type { CancelSignal } from '../cancellation.ts';
import type { CatalogTool } from '../catalog/catalog.ts';
import type { Era } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import type { Principal } from '../security/auth.ts';
import type { TraceContext } from '../tracing.ts';
import type { SessionOwner } from '../upstream/owned-sessions.ts';
import { type ClientIdentity, ourInfo, type SessionRequest } from '../upstream/session.ts';

export interface Caller {
  readonly principal: Principal;
  readonly address: string | null;
  readonly client?: ClientIdentity;
  /** Of an MCP client. */
  readonly era?: Era;
  /** Whose searches a called tool may have been found by: an MCP session's or a principal's. Not set for calls of our own. */
  readonly searcher?: string;
  /** Who has the session with a server, where the server has one for each client. */
  readonly owner: (server: Server) => SessionOwner;
}

/** A caller without an MCP client, such as a REST client: what servers keep for it is its principal's. */
export function toDirectCaller(caller: Omit<Caller, 'owner'>): Caller {
  const owner: SessionOwner = {
    key: `direct:${caller.principal.id}`,
    client: { info: ourInfo, capabilities: {} },
    isAskable: false,
    leavesSilently: true,
    onNotification: () => undefined,
  };
  return { ...caller, owner: () => owner };
}

export interface Call extends SessionRequest {
  readonly caller: Caller;
  /** Aborted when the answer is no longer wanted. A `Cancellation` is also aborted when the call takes too long. */
  readonly signal: CancelSignal;
  readonly requestId?: string;
  /** When the request arrived, on the clock of `performance`. */
  readonly receivedAt?: number;
  /** The span that the call belongs to: the client's own, or that of its HTTP request. */
  readonly trace?: TraceContext;
  /** Of the client's HTTP request: `Mcp-Param-*` are checked and passed on. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
}

export interface RoutedCall extends Call {
  readonly server: Server;
  /** What `tools/call` calls. */
  readonly tool?: CatalogTool;
}

export interface ToolCall extends RoutedCall {
  readonly tool: CatalogTool;
}
