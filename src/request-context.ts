/** What is known of an HTTP request beside its bytes. Headers stay as the client sent them. */
import type { TraceContext } from './tracing.ts';

export interface RequestContext {
  /** The client's `x-request-id`, or ours: it ties the answer to the log. */
  readonly requestId: string;
  /** When it arrived, on the clock of `performance`. */
  readonly receivedAt: number;
  /** The client's own, or that of the dashboard session that its cookie names. */
  readonly authorization: string | undefined;
  /** The span of this request, as the parent of what it causes. */
  readonly trace: TraceContext | undefined;
}

/** Marks an answer that refuses a request because the process shuts down: nothing was executed. */
export const shuttingDownHeader = 'mcp-aggregator-shutting-down';
