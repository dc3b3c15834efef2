/** Who is at the other end of the MCP endpoint, and one request of theirs. Both eras look alike from here on. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Cancellation } from '../cancellation.ts';
import type { CatalogTool } from '../catalog/catalog.ts';
import type { Era } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import type { RequestContext } from '../request-context.ts';
import type { Call, Caller } from '../routing/call.ts';
import type { Principal } from '../security/auth.ts';
import type { ModernClient } from './modern-clients.ts';
import type { Scope, ScopeRequest } from './scope.ts';

/** So many resources, and so many tasks, may be followed in one session or on one stream. */
export const maxSubscriptions = 1_000;

/** An HTTP request before authentication. */
export interface HttpRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly context: RequestContext;
  readonly path: string;
  /** Aborted when the client closes the connection before it has its answer. */
  readonly disconnected: Cancellation;
}

export interface ClientRequest extends HttpRequest {
  readonly principal: Principal;
  readonly address: string;
  readonly offer: ScopeRequest;
  /** For every answer to it. */
  readonly answerHeaders: Readonly<Record<string, string>>;
}

export interface Peer extends Caller {
  readonly era: Era;
  readonly protocolVersion: string;
  readonly address: string;
  readonly scope: Scope;
  readonly client: NonNullable<Caller['client']>;
  /** Set for clients of 2026-07-28, whose requests stand alone. */
  readonly modern?: ModernClient;
}

/** A call of an MCP client. `ask` is there for legacy clients only: modern ones are asked by the answer itself. */
export interface McpCall extends Call {
  readonly caller: Peer;
  readonly notify: NonNullable<Call['notify']>;
}

/** With the server that it goes to and, for `tools/call`, the tool. */
export interface ServerCall extends McpCall {
  readonly server: Server;
  readonly tool?: CatalogTool;
}
