/**
 * Forwards W3C trace context from clients to servers and exports our spans to an OpenTelemetry collector (OTLP over
 * HTTP, JSON) if one is configured. Without a collector, the context is forwarded unchanged.
 */
import { randomBytes } from 'node:crypto';
import type { Config } from './config/config.ts';
import { AppError, describe } from './errors.ts';
import { isObject, type JsonObject } from './json-rpc.ts';
import type { Logger } from './log.ts';
import { version } from './version.ts';

export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
  /** `tracestate`, forwarded unchanged. */
  readonly state?: string;
}

type SpanKind = 'internal' | 'server' | 'client';
const kindNumbers: Record<SpanKind, number> = { internal: 1, server: 2, client: 3 };

interface SpanRecord {
  name: string;
  kind: SpanKind;
  context: TraceContext | undefined;
  parent: TraceContext | undefined;
  /** Both from `performance.now()`. */
  startedAt: number;
  endedAt: number;
  attributes?: Record<string, string | number | undefined>;
  /** The thrown value, if it failed. */
  error?: unknown;
}

export interface Tracer {
  /** False if nothing is exported: `child` returns the parent, and spans need not be prepared. */
  readonly enabled: boolean;
  /** The context of a new span below the parent, or of a new trace. */
  child(parent: TraceContext | undefined): TraceContext | undefined;
  record(span: SpanRecord): void;
  close(): Promise<void>;
}

export const noTracer: Tracer = {
  enabled: false,
  child: (parent) => parent,
  record() {},
  async close() {},
};

interface TracedWork<T> {
  name: string;
  parent: TraceContext | undefined;
  /** Counts and decisions only, never content of requests. */
  attributes: (result: T) => SpanRecord['attributes'];
}

/** Runs a function in a new span and passes it the context of that span. */
export async function traced<T>(
  tracer: Tracer,
  { name, parent, attributes }: TracedWork<T>,
  work: (context: TraceContext | undefined) => Promise<T>,
): Promise<T> {
  if (!tracer.enabled) return await work(parent);
  const span = { name, kind: 'internal', context: tracer.child(parent), parent, startedAt: performance.now() } as const;
  try {
    const result = await work(span.context);
    tracer.record({ ...span, endedAt: performance.now(), attributes: attributes(result) });
    return result;
  } catch (error) {
    const type = { 'error.type': error instanceof AppError ? error.code : undefined };
    tracer.record({ ...span, endedAt: performance.now(), attributes: type, error });
    throw error;
  }
}

interface TracerOptions {
  endpoint: string;
  /** `name=value` each. */
  headers?: readonly string[];
  serviceName: string;
  log: Logger;
  onDropped?: (count: number) => void;
  flushEveryMs?: number;
}

/** Exports where a collector is configured. */
export function createConfiguredTracer(config: Config, { log, onDropped }: Pick<TracerOptions, 'log' | 'onDropped'>) {
  const { otlpEndpoint: endpoint, otlpHeaders: headers, otelServiceName: serviceName } = config;
  return endpoint === undefined ? noTracer : createTracer({ endpoint, headers, serviceName, log, onDropped });
}

const queueLimit = 4_096;
const batchLimit = 512;
const exportTimeoutMs = 10_000;

export function createTracer(options: TracerOptions): Tracer {
  const { serviceName, log, onDropped, flushEveryMs = 1_000 } = options;
  const url = `${options.endpoint.replace(/\/+$/, '')}/v1/traces`;
  const headers = { 'content-type': 'application/json', ...parseHeaders(options.headers ?? []) };
  const waiting: SpanRecord[] = [];
  let sending: Promise<void> = Promise.resolve();
  let failing = false;

  function flush(): Promise<void> {
    sending = sending.then(async () => {
      while (waiting.length > 0) await send(waiting.splice(0, batchLimit));
    });
    return sending;
  }

  /** If the collector is unavailable, the batch is dropped and counted; requests are not affected. */
  async function send(batch: SpanRecord[]): Promise<void> {
    try {
      const body = JSON.stringify(toOtlp(batch, serviceName));
      const answer = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(exportTimeoutMs) });
      await answer.arrayBuffer();
      if (!answer.ok) throw new Error(`the collector answered HTTP ${answer.status}`);
      failing = false;
    } catch (error) {
      onDropped?.(batch.length);
      if (!failing) log.warn({ spans: batch.length, reason: describe(error) }, 'could not send traces');
      failing = true;
    }
  }

  const timer = setInterval(flush, flushEveryMs).unref();

  return {
    enabled: true,
    child: (parent) => ({
      traceId: parent?.traceId ?? randomBytes(16).toString('hex'),
      spanId: randomBytes(8).toString('hex'),
      sampled: parent?.sampled ?? true,
      ...(parent?.state === undefined ? {} : { state: parent.state }),
    }),
    record(span) {
      if (span.context?.sampled !== true) return;
      if (waiting.length >= queueLimit) return onDropped?.(1);
      waiting.push(span);
      if (waiting.length === batchLimit) void flush();
    },
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}

const traceparentPattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Undefined for an invalid parent, which is ignored. */
export function parseTraceparent(text: unknown, state?: unknown): TraceContext | undefined {
  const [, format, traceId, spanId, flags, more] =
    typeof text === 'string' ? (traceparentPattern.exec(text) ?? []) : [];
  if (format === undefined || traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (format === 'ff' || (format === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  const sampled = (Number.parseInt(flags, 16) & 1) === 1;
  return { traceId, spanId, sampled, ...(typeof state === 'string' && state !== '' ? { state } : {}) };
}

export function formatTraceparent({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/** Of an HTTP request. */
export function traceOf({ traceparent, tracestate }: Readonly<Record<string, unknown>>): TraceContext | undefined {
  return traceparent === undefined ? undefined : parseTraceparent(traceparent, tracestate);
}

/** Where a message has a context of its own it is nearer to the caller's code than that of its HTTP request. */
export function traceOfMessage(params: JsonObject, request: TraceContext | undefined): TraceContext | undefined {
  return (isObject(params._meta) ? traceOf(params._meta) : undefined) ?? request;
}

/** The params with the context in their `_meta`, for the next hop. */
export function carryTrace(params: JsonObject, context: TraceContext | undefined): JsonObject {
  if (context === undefined) return params;
  const traceparent = formatTraceparent(context);
  const meta = isObject(params._meta) ? params._meta : {};
  if (meta.traceparent === traceparent) return params;
  const state = context.state === undefined ? {} : { tracestate: context.state };
  return { ...params, _meta: { ...meta, traceparent, ...state } };
}

function parseHeaders(entries: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    entries.map((entry) => {
      const place = entry.indexOf('=');
      // OTEL_EXPORTER_OTLP_HEADERS is written like baggage: values are percent-encoded.
      return [entry.slice(0, place).trim().toLowerCase(), decodeURIComponent(entry.slice(place + 1).trim())];
    }),
  );
}

function toOtlp(spans: readonly SpanRecord[], serviceName: string): JsonObject {
  const resource = { 'service.name': serviceName, 'service.version': version, 'process.pid': process.pid };
  return {
    resourceSpans: [
      {
        resource: { attributes: toAttributes(resource) },
        scopeSpans: [{ scope: { name: 'mcp-aggregator', version }, spans: spans.map(toOtlpSpan) }],
      },
    ],
  };
}

function toOtlpSpan({ name, kind, context, parent, startedAt, endedAt, attributes, error }: SpanRecord): JsonObject {
  return {
    traceId: context?.traceId,
    spanId: context?.spanId,
    ...(parent === undefined ? {} : { parentSpanId: parent.spanId }),
    ...(context?.state === undefined ? {} : { traceState: context.state }),
    name,
    kind: kindNumbers[kind],
    startTimeUnixNano: toUnixNano(startedAt),
    endTimeUnixNano: toUnixNano(endedAt),
    attributes: toAttributes(attributes ?? {}),
    // Only the error code, because messages may quote arguments.
    status: error === undefined ? {} : { code: 2, message: error instanceof Error ? error.name : 'failed' },
  };
}

function toUnixNano(at: number): string {
  return String(BigInt(Math.round((performance.timeOrigin + at) * 1_000)) * 1_000n);
}

function toAttributes(values: Record<string, string | number | undefined>): JsonObject[] {
  return Object.entries(values).flatMap(([key, value]): JsonObject[] => {
    if (value === undefined) return [];
    const integer = typeof value === 'number' && Number.isInteger(value);
    if (integer) return [{ key, value: { intValue: String(value) } }];
    return [{ key, value: typeof value === 'number' ? { doubleValue: value } : { stringValue: value } }];
  });
}
