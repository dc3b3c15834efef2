/** Evaluates the outcome of a health check (BR-006, EC-005). */
export type ProbeOutcome =
  | { kind: 'status'; status: number; ms: number }
  | { kind: 'answered'; ms: number }
  | { kind: 'failed'; reason: string };

type HealthVerdict =
  | { health: 'passed' }
  | { health: 'failed'; reason: string }
  /** The URL is wrong, not the server: logged, but not counted as a failure. */
  | { health: 'misconfigured'; reason: string };

export function judge(outcome: ProbeOutcome): HealthVerdict {
  switch (outcome.kind) {
    case 'answered':
      return { health: 'passed' };
    case 'failed':
      return { health: 'failed', reason: outcome.reason };
    case 'status':
      if (outcome.status === 200) return { health: 'passed' };
      if (outcome.status >= 400 && outcome.status < 500) {
        return { health: 'misconfigured', reason: `health_check_url answered HTTP ${outcome.status}` };
      }
      return { health: 'failed', reason: `health_check_url answered HTTP ${outcome.status}` };
  }
}
