import { useSyncExternalStore } from 'react';
import type { Server, Status } from '../api.ts';
import { liveState } from '../live.ts';
import { isGrave, outcomeTone, outcomeWords, riskWords, statusTone, statusWords } from '../words.ts';

/** How a server is; while the aggregator does not respond, how it was. */
export function StatusBadge({
  status,
  login = null,
  parked = false,
}: { status: Status } & Partial<Pick<Server, 'login' | 'parked'>>) {
  const live = useSyncExternalStore(liveState.subscribe, liveState.get);
  const needsLogin = login !== null && status !== 'DISCONNECTED';
  const word = needsLogin ? 'Login required' : parked && status === 'CONNECTED' ? 'Parked' : statusWords[status];
  const tone = live === 'lost' ? 'off' : needsLogin ? 'warn' : statusTone[status];
  return (
    <span
      className={`badge ${tone}`}
      data-status={status}
      title={parked ? 'Not running: the next call starts it' : undefined}
    >
      {live === 'lost' ? `Unknown (was: ${word})` : word}
    </span>
  );
}

export function RiskBadge({ risk }: { risk: string }) {
  return <span className={`badge ${isGrave(risk) ? 'bad' : 'warn'}`}>{riskWords[risk] ?? risk}</span>;
}

export function OutcomeBadge({ outcome }: { outcome: string }) {
  return <span className={`badge ${outcomeTone(outcome)}`}>{outcomeWords[outcome] ?? outcome}</span>;
}
