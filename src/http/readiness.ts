/** Whether this process takes requests, as load balancers ask at `/readyz`. */
export type ReadinessPhase = 'starting' | 'ready' | 'draining';

export interface Readiness {
  readonly phase: ReadinessPhase;
  /** Everything is open; ready as soon as the servers have been tried once. */
  handleStarted(): void;
  /** Never ready again. */
  handleStopping(): void;
}

interface ReadinessDependencies {
  /** No server is being connected. */
  isSettled(): boolean;
  now?: () => number;
}

/** A server that does not respond must not hold up a rollout. */
const maxSettlingMs = 10_000;

export function createReadiness({ isSettled, now = () => performance.now() }: ReadinessDependencies): Readiness {
  let phase: ReadinessPhase = 'starting';
  let startedAt: number | undefined;
  return {
    get phase() {
      if (phase === 'starting' && startedAt !== undefined && (isSettled() || now() - startedAt >= maxSettlingMs))
        phase = 'ready';
      return phase;
    },
    handleStarted() {
      startedAt ??= now();
    },
    handleStopping() {
      phase = 'draining';
    },
  };
}

const probePaths = new Set(['/livez', '/readyz']);

/** Probes are answered by this process itself, whatever its state, its connections and the host that they name. */
export const isProbe = (url = ''): boolean => probePaths.has(url.split('?', 1)[0] ?? '');
