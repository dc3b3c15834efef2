/** Records each finished request: one measurement, one log line and one span. */
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { TraceContext, Tracer } from '../tracing.ts';

interface FinishedRequest {
  id: string;
  method: string;
  /** Label of metrics and spans; names are left out because their number is unbounded. */
  route: string;
  path: string;
  status: number;
  startedAt: number;
  address: string;
  parent: TraceContext | undefined;
  trace: TraceContext | undefined;
  /** What the route adds to the line. */
  fields?: Record<string, unknown>;
  error?: unknown;
  /** MCP calls have lines of their own. */
  isQuiet: boolean;
}

export type RecordRequest = (request: FinishedRequest) => void;

/** Polled every few seconds; logging each request would flood the log. */
const probes = new Set(['/metrics', '/livez', '/readyz', '/api/v1/aggregator/health']);

export function createRequestRecorder(log: Logger, metrics: Metrics, tracer: Tracer): RecordRequest {
  return (request) => {
    const endedAt = performance.now();
    metrics.onRequest(request.method, request.route, request.status, endedAt - request.startedAt);
    const level = levelOf(request);
    if (log.isLevelEnabled(level))
      log[level](toLine(request, endedAt), level === 'error' ? 'request failed' : 'request');
    if (tracer.enabled) tracer.record(toSpan(request, endedAt));
  };
}

function levelOf({ status, route, isQuiet }: FinishedRequest): 'debug' | 'info' | 'error' {
  if (isQuiet) return 'debug';
  return status === 500 ? 'error' : probes.has(route) ? 'debug' : 'info';
}

function toLine(request: FinishedRequest, endedAt: number): Record<string, unknown> {
  const { id, method, path, status, startedAt, address, fields, trace, error } = request;
  return {
    request_id: id,
    method,
    path,
    status,
    duration_ms: Math.round((endedAt - startedAt) * 1_000) / 1_000,
    ip: address,
    ...fields,
    ...(trace === undefined ? {} : { trace_id: trace.traceId }),
    ...(error instanceof AppError ? { error_code: error.code } : {}),
    ...(status === 500 ? { err: error } : {}),
  };
}

function toSpan({ method, route, status, startedAt, parent, trace, error }: FinishedRequest, endedAt: number) {
  return {
    name: `${method} ${route}`,
    kind: 'server' as const,
    context: trace,
    parent,
    startedAt,
    endedAt,
    attributes: { 'http.request.method': method, 'http.route': route, 'http.response.status_code': status },
    error: status >= 500 ? (error ?? new Error('failed')) : undefined,
  };
}
