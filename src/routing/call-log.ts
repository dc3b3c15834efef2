/** Every call is in the audit and in the metrics; the log has those that failed, and all of them at the level debug. */
import type { Changes, FinishedCall } from '../changes.ts';
import type { Logger } from '../log.ts';

/** Returns the function that ends it. */
export function logCalls(log: Logger, changes: Changes): () => void {
  return changes.subscribe('call.finished', (call) => logCall(log, call));
}

function logCall(log: Logger, { server, tool, principal, outcome, duration_ms, measured }: FinishedCall): void {
  const failed = outcome !== 'ok' && outcome !== 'tool_error' && outcome !== 'cancelled';
  const level = failed ? 'warn' : 'debug';
  if (!log.isLevelEnabled(level)) return;
  log[level]({ request_id: measured.requestId, principal, server, tool, outcome, duration_ms }, 'tool call');
}
