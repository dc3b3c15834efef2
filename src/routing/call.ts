/**
 * One request on its way to a server: a place in the server's queue, a session, a deadline that progress extends, and
 * what became of it told to audit, metrics and events. Every relayed method goes through `relay`; `callTool` adds what
 * tools need.
 */
import type { Catalog, CatalogTool } from '../catalog/catalog.ts';
import { parameterHeaders } from '../catalog/parameter-headers.ts';
import type { CallEvent, Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { AppError, describe, RpcError } from '../errors.ts';
import { createId } from '../ids.ts';
import { isObject, type JsonObject } from '../json-rpc.ts';
import { memberOf, RawResult, type Result, toObject } from '../raw-result.ts';
import type { Server } from '../registry/registry.ts';
import type { Audit } from '../security/audit.ts';
import type { Principal } from '../security/auth.ts';
import { maskError, maskStrings } from '../security/mask.ts';
import { carryTrace, noTracer, type TraceContext, type Tracer } from '../tracing.ts';
import { HttpProblem } from '../upstream/http.ts';
import { brief, type Link } from '../upstream/link.ts';
import type { SessionOwner } from '../upstream/owned-sessions.ts';
import type { Pool } from '../upstream/pool.ts';
import { AccessDenied, type ClientIdentity, ConnectionLost, MessageTooLarge } from '../upstream/session.ts';
import { createDeadlines, type Deadline, type RelayExchange } from './deadline.ts';
import type { SearchAttribution } from './search-attribution.ts';

export interface Caller {
  principal: Principal;
  address: string | null;
  requestId?: string;
  /** The span that the call belongs to. */
  trace?: TraceContext;
  /** Of the client's request: they may have its id. */
  headers?: Readonly<Record<string, string | string[] | undefined>>;
  client?: ClientIdentity;
  /** Whoever may have found the tool by a search: an MCP session or a principal. Not set for calls of our own. */
  searcher?: string;
  /** Set for MCP clients that can be asked: they may get a session of their own. */
  owner?: SessionOwner;
}

type Outcome =
  | 'ok'
  | 'tool_error'
  | 'rpc_error'
  | 'unavailable'
  | 'overloaded'
  | 'held'
  | 'timeout'
  | 'cancelled'
  | 'failed';

export interface CallResult {
  result: Result;
  /** The server is DEGRADED: the call was executed all the same. */
  warning?: string;
  routingMs: number;
  executionMs: number;
}

export interface Router {
  relay(server: Server, method: string, params: JsonObject, caller: Caller, exchange?: RelayExchange): Promise<Result>;
  callTool(tool: CatalogTool, params: JsonObject, caller: Caller, exchange?: RelayExchange): Promise<CallResult>;
  /** Tells the server that somebody wants to hear of changes; the function that ends it. */
  subscribe(server: Server, uri: string, caller: Caller): Promise<() => Promise<void>>;
  /** The same for how a task gets on (2026-07-28). */
  follow(server: Server, taskId: string, caller: Caller): Promise<() => Promise<void>>;
  /** An MCP client went away: the sessions that only it used end. */
  release(ownerKey: string): Promise<void>;
  notify(ownerKey: string, method: string, params: JsonObject): void;
  /** Calls in progress, all servers together. */
  readonly active: number;
}

/** Told what calls say and are answered. */
export interface PayloadKeeper {
  keepArguments(call: CallEvent, args: unknown): void;
  keepEnd(call: CallEvent, part: 'result' | 'error', value: unknown): void;
}

interface RouterDependencies {
  config: Config;
  pool: Pool;
  catalog: Catalog;
  audit: Audit;
  changes: Changes;
  tracer?: Tracer;
  searchAttribution?: SearchAttribution;
  /** Not set unless somebody may see them. */
  payloads?: PayloadKeeper;
  /** Our page where this principal logs in to the server. */
  loginLink?: (server: Server, principal: Principal) => string;
}

export function createRouter(deps: RouterDependencies): Router {
  const { config, pool, audit, changes, payloads, tracer = noTracer } = deps;
  const deadlines = createDeadlines(config);
  let active = 0;

  function relay(
    server: Server,
    method: string,
    params: JsonObject,
    caller: Caller,
    exchange: RelayExchange = {},
    timing: { acquiredAt?: number } = {},
  ): Promise<Result> {
    const parent = caller.trace;
    if (!tracer.enabled) return send(server, method, carryTrace(params, parent), caller, exchange, timing);
    return recordSpans(parent, { server, method, tool: params.name, timing }, (hop) =>
      send(server, method, carryTrace(params, hop), caller, exchange, timing),
    );
  }

  async function recordSpans(
    parent: TraceContext | undefined,
    {
      server,
      method,
      tool,
      timing,
    }: { server: Server; method: string; tool: unknown; timing: { acquiredAt?: number } },
    work: (hop: TraceContext | undefined) => Promise<Result>,
  ): Promise<Result> {
    const hop = tracer.child(parent);
    const startedAt = performance.now();
    let error: unknown;
    try {
      return await work(hop);
    } catch (caught) {
      error = caught;
      throw caught;
    } finally {
      const endedAt = performance.now();
      const acquiredAt = timing.acquiredAt ?? endedAt;
      const attributes = {
        'mcp.method.name': method,
        'mcp_aggregator.server': server.name,
        'gen_ai.tool.name': typeof tool === 'string' ? tool : undefined,
        'error.type': error instanceof AppError ? error.code : undefined,
      };
      const routing = { name: 'route', kind: 'internal', context: tracer.child(parent) } as const;
      tracer.record({ ...routing, parent, startedAt, endedAt: acquiredAt, attributes });
      const name = `${method} ${server.name}`;
      tracer.record({ name, kind: 'client', context: hop, parent, startedAt: acquiredAt, endedAt, attributes, error });
    }
  }

  async function send(
    server: Server,
    method: string,
    params: JsonObject,
    caller: Caller,
    exchange: RelayExchange,
    timing: { acquiredAt?: number },
  ): Promise<Result> {
    const link = pool.open(server);
    const place = link.concurrency.enter(exchange.cancel ?? exchange.signal);
    if (place !== undefined) await place;
    active += 1;
    const deadline = deadlines.begin(exchange, {
      client: caller.client,
      owner: caller.owner?.key,
      seconds: link.server.options.request_timeout,
      onAsked: link.recordAsked,
      mask: link.mask,
    });
    try {
      const opened = link.session(caller.owner, deadline.cancel, caller.principal.id);
      let session = opened instanceof Promise ? await opened : opened;
      timing.acquiredAt = performance.now();
      try {
        return maskedResult(await session.relay(method, params, deadline.exchange), link);
      } catch (error) {
        if (!(error instanceof ConnectionLost) || error instanceof MessageTooLarge) throw error;
        await link.reportLost(session, error);
        if (!mayRepeat(error, method, params, server))
          throw lostInMidCall(link, method, params, timing.acquiredAt, error);
        // The server may have been changed meanwhile: it has another link then, and this one is closed.
        const current = pool.link(server.id) ?? link;
        session = await current.session(caller.owner, deadline.cancel, caller.principal.id);
        return maskedResult(await session.relay(method, params, deadline.exchange), link);
      }
    } catch (error) {
      throw translate(withLink(error, link.server, caller.principal), link, deadline);
    } finally {
      deadline.clear();
      active -= 1;
      link.concurrency.leave();
    }
  }

  /** Whoever called can log in, or send somebody who may: the answer says where. */
  function withLink(error: unknown, server: Server, principal: Principal): unknown {
    if (!(error instanceof AppError) || error.code !== 'LOGIN_REQUIRED' || deps.loginLink === undefined) return error;
    const login_url = deps.loginLink(server, principal);
    const what = error.context?.login === 'expired' ? 'Login expired' : 'Login required';
    return new AppError('LOGIN_REQUIRED', `${what}: ${server.name}: open ${login_url} to log in`, {
      cause: error,
      body: { server: brief(server) },
      context: { ...error.context, login_url },
    });
  }

  function mayRepeat(error: ConnectionLost, method: string, params: JsonObject, server: Server): boolean {
    if (error.executed === 'no') return true;
    if (method !== 'tools/call') return !method.startsWith('tasks/');
    const own = deps.catalog.snapshot.toolsByServer.get(server.id);
    const annotations = own?.find(({ row }) => row.original_name === params.name)?.row.definition.annotations;
    return isObject(annotations) && (annotations.readOnlyHint === true || annotations.idempotentHint === true);
  }

  async function callTool(
    tool: CatalogTool,
    params: JsonObject,
    caller: Caller,
    exchange: RelayExchange = {},
  ): Promise<CallResult> {
    const { row } = tool;
    const link = pool.open(tool.server);
    const { server } = link;
    const started = performance.now();
    const timing: { acquiredAt?: number } = {};
    const call = {
      call_id: createId(),
      server_id: server.id,
      server: server.name,
      tool: row.name,
      principal: caller.principal.name,
    };
    changes.publish('call.started', call);
    payloads?.keepArguments(call, params.arguments);
    let outcome: Outcome = 'failed';
    const chosen_for = deps.searchAttribution?.find(caller.searcher, row.name);
    try {
      deps.catalog.changes.requireReviewed(tool);
      const headers =
        server.era === 'modern' ? parameterHeaders(row.input_schema, params.arguments, caller.headers) : undefined;
      const result = await relay(
        server,
        'tools/call',
        { ...params, name: row.original_name },
        caller,
        headers === undefined ? exchange : { ...exchange, headers: { ...exchange.headers, ...headers } },
        timing,
      );
      outcome = memberOf(result, 'isError') === true ? 'tool_error' : 'ok';
      payloads?.keepEnd(call, 'result', toObject(result));
      return {
        result,
        warning: warningOf(link.server),
        routingMs: (timing.acquiredAt ?? started) - started,
        executionMs: performance.now() - (timing.acquiredAt ?? started),
      };
    } catch (error) {
      outcome = outcomeOf(error);
      payloads?.keepEnd(call, 'error', describe(error));
      throw error;
    } finally {
      const ended = performance.now();
      const duration_ms = Math.round((ended - started) * 1_000) / 1_000;
      audit.record({
        event: 'tool.called',
        actor: caller.principal.name,
        ip_address: caller.address,
        server_id: server.id,
        server_name: server.name,
        details: { tool: row.name, outcome, duration_ms, chosen_for },
      });
      changes.publish('call.finished', { ...call, outcome, duration_ms });
      changes.publish('call.measured', {
        server: server.name,
        tool: row.name,
        principal: caller.principal.name,
        requestId: caller.requestId ?? caller.headers?.['x-request-id']?.toString(),
        outcome,
        routingMs: (timing.acquiredAt ?? ended) - started,
        executionMs: timing.acquiredAt === undefined ? undefined : ended - timing.acquiredAt,
      });
    }
  }

  async function subscribe(server: Server, uri: string, { owner, principal }: Caller): Promise<() => Promise<void>> {
    try {
      return await pool.open(server).subscribe('resourceSubscriptions', uri, owner, principal.id);
    } catch (error) {
      throw withLink(error, pool.open(server).server, principal);
    }
  }

  function follow(server: Server, taskId: string, { principal }: Caller): Promise<() => Promise<void>> {
    return pool.open(server).subscribe('taskIds', taskId, undefined, principal.id);
  }

  return {
    relay,
    callTool,
    subscribe,
    follow,
    release: (ownerKey) => pool.release(ownerKey),
    notify: (ownerKey, method, params) => pool.notify(ownerKey, method, params),
    get active() {
      return active;
    },
  };
}

/** EC-003: what was in progress when the connection was lost. */
function lostInMidCall(
  { server, mask }: Link,
  method: string,
  params: JsonObject,
  startedAt: number,
  cause: ConnectionLost,
): AppError {
  const started_at = new Date(Date.now() - (performance.now() - startedAt)).toISOString();
  return new AppError(
    'SERVER_UNAVAILABLE',
    `Server unavailable: ${server.name} was lost during the call: ${mask(cause.message)}`,
    {
      cause,
      body: { server: brief(server) },
      context: {
        in_progress: { method, name: params.name ?? params.uri ?? null, started_at },
        executed: 'unknown',
      },
    },
  );
}

function translate(error: unknown, link: Link, deadline: Deadline): unknown {
  const { server } = link;
  if (deadline.timedOut || isTimeout(deadline.cancel.reason)) {
    return new AppError('EXECUTION_TIMEOUT', `Timed out waiting for ${server.name}`, {
      cause: error,
      body: { server: brief(server) },
    });
  }
  if (deadline.cancel.aborted) return new AppError('CALL_CANCELLED', 'The call was cancelled', { cause: error });
  if (error instanceof ConnectionLost && !(error instanceof MessageTooLarge)) {
    return new AppError('SERVER_UNAVAILABLE', `Server unavailable: ${server.name}: ${link.mask(error.message)}`, {
      cause: error,
      body: { server: brief(server) },
    });
  }
  if (error instanceof HttpProblem || error instanceof AccessDenied || error instanceof MessageTooLarge) {
    return new AppError('EXECUTION_FAILED', `${server.name}: ${link.mask(describe(error))}`, { cause: error });
  }
  if (error instanceof RpcError) {
    const mask = (text: string): string => maskError(text, link.mask);
    return new RpcError(error.code, mask(error.message), maskStrings(error.data, mask));
  }
  return error;
}

/** A caller that waits for so long and no longer (a query) says so by its reason. */
const isTimeout = (reason: unknown): boolean => reason instanceof DOMException && reason.name === 'TimeoutError';

/** Servers repeat in their errors what they were given, credentials too; what a call brought is the caller's own. */
function maskedResult(result: Result, { mask }: Link): Result {
  if (memberOf(result, 'isError') !== true) return result;
  if (result instanceof RawResult && result.byteLength > maxErrorBytes) return tooLargeError(result.byteLength);
  return maskStrings(toObject(result), (text) => maskError(text, mask));
}

/** To read and mask a larger one would delay other calls. */
const maxErrorBytes = 2_097_152;

function tooLargeError(bytes: number): JsonObject {
  const text = `The tool reported an error of ${bytes} bytes, which is too large to show`;
  return { content: [{ type: 'text', text }], isError: true };
}

function warningOf({ name, lifecycle, error_message }: Server): string | undefined {
  return lifecycle.status === 'DEGRADED' ? `Server ${name} is DEGRADED: ${error_message}` : undefined;
}

function outcomeOf(error: unknown): Outcome {
  if (error instanceof RpcError) return 'rpc_error';
  if (!(error instanceof AppError)) return 'failed';
  switch (error.code) {
    case 'EXECUTION_TIMEOUT':
      return 'timeout';
    case 'CALL_CANCELLED':
      return 'cancelled';
    case 'SERVER_OVERLOADED':
      return 'overloaded';
    case 'TOOL_CHANGE_PENDING':
      return 'held';
    case 'SERVER_UNAVAILABLE':
    case 'SERVER_CONNECTION_FAILED':
    case 'LOGIN_REQUIRED':
      return 'unavailable';
    default:
      return 'failed';
  }
}
