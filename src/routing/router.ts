/**
 * One call on its way to a server: a place in the server's queue, a session, a deadline that progress extends, and what
 * became of it told to audit, metrics and events. Every relayed method goes through `relay`; `callTool` adds what tools
 * need.
 */
import { type Cancellation, toCancellation } from '../cancellation.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { passedArguments } from '../catalog/offered-tool.ts';
import { parameterHeaders } from '../catalog/parameter-headers.ts';
import type { CallEvent, Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { AppError, describe } from '../errors.ts';
import { createId } from '../ids.ts';
import { createInFlightTable } from '../in-flight-table.ts';
import { isObject, type JsonObject } from '../json-rpc.ts';
import { memberOf, RawResult, type Result, toObject } from '../raw-result.ts';
import type { Server } from '../registry/registry.ts';
import type { Audit } from '../security/audit.ts';
import { maskError, maskStrings } from '../security/mask.ts';
import { userOf } from '../security/policy.ts';
import { carryTrace, noTracer, type TraceContext, type Tracer } from '../tracing.ts';
import type { Link } from '../upstream/link.ts';
import type { Pool } from '../upstream/pool.ts';
import { ConnectionLost, MessageTooLarge, type Session } from '../upstream/session.ts';
import type { Caller, RoutedCall, ToolCall } from './call.ts';
import {
  type CallOutcome,
  codeOf,
  lostInMidCall,
  type OwnPages,
  outcomeOf,
  routeLost,
  translateError,
  withPageLink,
} from './call-errors.ts';
import { createDeadlines, type Deadline } from './deadline.ts';
import { relayAsTask, requiresTask } from './required-task.ts';
import type { SearchAttribution } from './search-attribution.ts';

interface CallResult {
  result: Result;
  /** The server is DEGRADED: the call was executed all the same. */
  warning?: string;
  routingMs: number;
  executionMs: number;
}

export interface Router {
  relay(call: RoutedCall): Promise<Result>;
  callTool(call: ToolCall): Promise<CallResult>;
  /** Subscribes to changes of a resource; returns the function that ends the subscription. */
  subscribe(server: Server, uri: string, caller: Caller): Promise<() => Promise<void>>;
  /** The same for how a task gets on (2026-07-28). */
  follow(server: Server, taskId: string, caller: Caller): Promise<() => Promise<void>>;
  /** An MCP client went away: the sessions that only it used end. */
  release(ownerKey: string): Promise<void>;
  notify(ownerKey: string, method: string, params: JsonObject): void;
  /** Calls in progress, all servers together. */
  readonly active: number;
  /** Tool calls in progress, the oldest first. */
  readonly running: Iterable<RunningCall>;
}

export interface RunningCall {
  readonly event: CallEvent;
  readonly principalId: string;
  /** On the clock of `performance`. */
  readonly startedAt: number;
  readonly timing: Timing;
  /** Aborted with an AppError, its caller is answered with that. */
  readonly cancellation: Cancellation;
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
  /** Not set unless admins may see them. */
  payloads?: PayloadKeeper;
  pages?: OwnPages;
}

interface Timing {
  /** When it got its turn at the server. */
  admittedAt?: number;
  /** When it left for the server; undefined while it waits for its turn or for a session. */
  acquiredAt?: number;
}

export function createRouter(deps: RouterDependencies): Router {
  const { config, pool, catalog, audit, changes, payloads, tracer = noTracer } = deps;
  const deadlines = createDeadlines(config);
  const running = createInFlightTable<RunningCall>();
  let active = 0;

  function relay(call: RoutedCall, timing: Timing = {}): Promise<Result> {
    if (!tracer.enabled) return send(call.trace === undefined ? call : withTrace(call, call.trace), timing);
    return recordSpans(tracer, call, timing, (hop) => send(withTrace(call, hop), timing));
  }

  async function send(call: RoutedCall, timing: Timing): Promise<Result> {
    const link = pool.open(call.server);
    const place = link.concurrency.enter(call.signal);
    if (place !== undefined) await place;
    timing.admittedAt = performance.now();
    active += 1;
    const deadline = deadlines.begin(call, link);
    try {
      return maskedResult(await sendWithRetry(link, deadline, timing), link, userOf(call.caller.principal));
    } catch (error) {
      if (timing.acquiredAt === undefined && link.isRemoved) throw routeLost(link.server);
      throw translateError(withPageLink(error, link.server, call.caller.principal, deps.pages), link, deadline);
    } finally {
      deadline.clear();
      active -= 1;
      link.concurrency.leave();
    }
  }

  /** Sent again where the connection was lost and the call does no harm a second time (BR-005). */
  async function sendWithRetry(link: Link, deadline: Deadline, timing: Timing): Promise<Result> {
    const { call } = deadline;
    const opened = link.session(call);
    const session = opened instanceof Promise ? await opened : opened;
    timing.acquiredAt = performance.now();
    try {
      return await relayOn(session, deadline);
    } catch (error) {
      if (!(error instanceof ConnectionLost) || error instanceof MessageTooLarge) throw error;
      await link.reportLost(session, error);
      if (!mayRepeat(error, call, catalog)) throw lostInMidCall(link, call, timing.acquiredAt, error);
      // The server may have been changed meanwhile: it has another link then, and this one is closed.
      const current = pool.link(call.server.id) ?? link;
      return await relayOn(await current.session(call), deadline);
    }
  }

  async function callTool(call: ToolCall): Promise<CallResult> {
    const { tool, caller, params } = call;
    const { row } = tool;
    const link = pool.open(tool.server);
    const { server } = link;
    const started = performance.now();
    const timing: Timing = {};
    const event = {
      call_id: createId(),
      server_id: server.id,
      server: server.name,
      tool: row.name,
      principal: caller.principal.name,
      client: clientName(caller),
    };
    const maskOfCaller = (text: string) => link.mask(text, userOf(caller.principal));
    const { cancellation, unfollow } = toCancellation(call.signal);
    const place = running.add({ event, principalId: caller.principal.id, startedAt: started, timing, cancellation });
    changes.publish('call.started', event);
    payloads?.keepArguments(event, params.arguments);
    let outcome: CallOutcome = 'failed';
    let error_code: string | null = null;
    const chosen_for = deps.searchAttribution?.find(caller.searcher, row.name);
    try {
      catalog.changes.requireReviewed(tool);
      const result = await relay(asServerKnowsIt(call, cancellation), timing);
      outcome = memberOf(result, 'isError') === true ? 'tool_error' : 'ok';
      payloads?.keepEnd(event, 'result', maskStrings(toObject(result), maskOfCaller));
      const acquiredAt = timing.acquiredAt ?? started;
      const routingMs = acquiredAt - started;
      return { result, warning: warningOf(link.server), routingMs, executionMs: performance.now() - acquiredAt };
    } catch (error) {
      outcome = outcomeOf(error);
      error_code = codeOf(error);
      payloads?.keepEnd(event, 'error', describe(error));
      throw error;
    } finally {
      running.remove(place);
      unfollow?.();
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
      const measured = {
        requestId: call.requestId,
        admissionMs: started - (call.receivedAt ?? started),
        queueMs: (timing.admittedAt ?? ended) - started,
        routingMs: (timing.acquiredAt ?? ended) - started,
        executionMs: timing.acquiredAt === undefined ? undefined : ended - timing.acquiredAt,
      };
      changes.publish('call.finished', { ...event, outcome, duration_ms, error_code, measured });
    }
  }

  return {
    relay,
    callTool,
    async subscribe(server, uri, caller) {
      try {
        return await pool.open(server).subscribe('resourceSubscriptions', uri, { caller });
      } catch (error) {
        throw withPageLink(error, pool.open(server).server, caller.principal, deps.pages);
      }
    },
    follow: (server, taskId, caller) => pool.open(server).subscribe('taskIds', taskId, { caller }),
    release: (ownerKey) => pool.release(ownerKey),
    notify: (ownerKey, method, params) => pool.notify(ownerKey, method, params),
    get active() {
      return active;
    },
    running,
  };
}

function relayOn(session: Session, deadline: Deadline): Promise<Result> {
  const { call } = deadline;
  return call.tool !== undefined && requiresTask(call.tool) ? relayAsTask(session, deadline) : session.relay(call);
}

const maxClientName = 64;

/** Clients choose it, so it is cut. */
function clientName({ client }: Caller): string | null {
  const name = client?.info?.name;
  return typeof name === 'string' && name !== '' ? name.slice(0, maxClientName) : null;
}

/** With the name that the server gave the tool, the arguments that an admin fixed, and the parameters that are repeated as headers (2026-07-28). */
function asServerKnowsIt(call: ToolCall, signal: Cancellation): ToolCall {
  const { tool, params: given } = call;
  const { listed, server, override } = tool;
  const args = override === undefined ? given.arguments : passedArguments(given.arguments, override);
  const params: JsonObject = { ...given, name: listed.original_name, arguments: args };
  // Tasks of 2025-11-25 are offered to no client, so what it says of them is ignored.
  if (params.task !== undefined) delete params.task;
  return {
    ...call,
    signal,
    params,
    parameterHeaders:
      server.era === 'modern' ? parameterHeaders(listed.input_schema, params.arguments, call.headers) : undefined,
  };
}

function withTrace(call: RoutedCall, context: TraceContext | undefined): RoutedCall {
  const params = carryTrace(call.params, context);
  return params === call.params ? call : { ...call, params };
}

/** Servers repeat in their errors what they were given, credentials too; what a call brought is the caller's own. */
function maskedResult(result: Result, { mask }: Link, user: string): Result {
  if (memberOf(result, 'isError') !== true) return result;
  if (result instanceof RawResult && result.byteLength > maxErrorBytes) return tooLargeError(result.byteLength);
  return maskStrings(toObject(result), (text) => maskError(text, (part) => mask(part, user)));
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

function mayRepeat(error: ConnectionLost, { method, params, server }: RoutedCall, { snapshot }: Catalog): boolean {
  if (error.executed === 'no') return true;
  if (method !== 'tools/call') return !method.startsWith('tasks/');
  const own = snapshot.toolsByServer.get(server.id);
  const annotations = own?.find(({ row }) => row.original_name === params.name)?.row.definition.annotations;
  return isObject(annotations) && (annotations.readOnlyHint === true || annotations.idempotentHint === true);
}

async function recordSpans(
  tracer: Tracer,
  { server, method, params, trace: parent }: RoutedCall,
  timing: Timing,
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
      'gen_ai.tool.name': typeof params.name === 'string' ? params.name : undefined,
      'error.type': error instanceof AppError ? error.code : undefined,
    };
    const routing = { name: 'route', kind: 'internal', context: tracer.child(parent) } as const;
    tracer.record({ ...routing, parent, startedAt, endedAt: acquiredAt, attributes });
    const name = `${method} ${server.name}`;
    tracer.record({ name, kind: 'client', context: hop, parent, startedAt: acquiredAt, endedAt, attributes, error });
  }
}
