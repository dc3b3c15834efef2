import type { Status } from '../api.ts';
import { outcomeTone, outcomeWords, statusTone, statusWords } from '../words.ts';

export function StatusBadge({ status }: { status: Status }) {
  return (
    <span className={`badge ${statusTone[status]}`} data-status={status}>
      {statusWords[status]}
    </span>
  );
}

export function OutcomeBadge({ outcome }: { outcome: string }) {
  return <span className={`badge ${outcomeTone(outcome)}`}>{outcomeWords[outcome] ?? outcome}</span>;
}
