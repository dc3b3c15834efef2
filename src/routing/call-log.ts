/** Every call is in the audit and in the metrics; the log has those that failed, and all of them at the level debug. */
import type { CallMeasure, Changes } from '../changes.ts';
import type { Logger } from '../log.ts';

/** Returns the function that ends it. */
export function logCalls(log: Logger, changes: Changes): () => void {
  return changes.subscribe('call.measured', (call) => logCall(log, call));
}

function logCall(log: Logger, { server, tool, principal, requestId, outcome, routingMs, executionMs }: CallMeasure) {
  const failed = outcome !== 'ok' && outcome !== 'tool_error' && outcome !== 'cancelled';
  const level = failed ? 'warn' : 'debug';
  if (!log.isLevelEnabled(level)) return;
  const duration_ms = Math.round((routingMs + (executionMs ?? 0)) * 1_000) / 1_000;
  log[level]({ request_id: requestId, principal, server, tool, outcome, duration_ms }, 'tool call');
}
