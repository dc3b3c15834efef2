/** One request of a caller, in the same shape from the endpoint to the session: each step adds what it found out. */
import type { CancelSignal } from '../cancellation.ts';
import type { CatalogTool } from '../catalog/catalog.ts';
import type { Server } from '../registry/registry.ts';
import type { Principal } from '../security/auth.ts';
import type { TraceContext } from '../tracing.ts';
import type { SessionOwner } from '../upstream/owned-sessions.ts';
import type { ClientIdentity, SessionRequest } from '../upstream/session.ts';

export interface Caller {
  readonly principal: Principal;
  readonly address: string | null;
  readonly client?: ClientIdentity;
  /** Whose searches a called tool may have been found by: an MCP session's or a principal's. Not set for calls of our own. */
  readonly searcher?: string;
  /** Set for MCP clients that can be asked: they may get a session of their own. */
  readonly owner?: SessionOwner;
}

export interface Call extends SessionRequest {
  readonly caller: Caller;
  /** Aborted when the answer is no longer wanted. A `Cancellation` is also aborted when the call takes too long. */
  readonly signal: CancelSignal;
  readonly requestId?: string;
  /** The span that the call belongs to: the client's own, or that of its HTTP request. */
  readonly trace?: TraceContext;
  /** Of the client's HTTP request: `Mcp-Param-*` are checked and passed on. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
}

export interface RoutedCall extends Call {
  readonly server: Server;
}

export interface ToolCall extends RoutedCall {
  readonly tool: CatalogTool;
}
