import type { Slice } from '../api.ts';
import { count, duration } from '../words.ts';

const step = 5;
const mostSlices = 24;
const height = 28;

/** Calls per slice as bars, the failed part in another colour; what it shows is also said in words. */
export function Sparkline({ slices }: { slices: readonly Slice[] }) {
  const shown = slices.slice(-mostSlices);
  const calls = shown.reduce((sum, slice) => sum + slice.calls, 0);
  const failed = shown.reduce((sum, slice) => sum + slice.failed, 0);
  if (calls === 0) return <span className="dim">no calls lately</span>;
  const most = Math.max(...shown.map((slice) => slice.calls));
  const busy = shown.filter((slice) => slice.mean_ms !== null);
  const mean = busy.reduce((sum, slice) => sum + (slice.mean_ms ?? 0) * slice.calls, 0) / calls;
  const label = `${count(calls, 'call')}, ${failed} failed, ${duration(mean)} on average, in the last 2 hours`;
  return (
    <span className="sparkline">
      <svg width={shown.length * step} height={height} role="img" aria-label={label}>
        <title>{label}</title>
        {shown.map((slice, place) => {
          const tall = (slice.calls / most) * (height - 2);
          const bad = slice.calls === 0 ? 0 : (slice.failed / slice.calls) * tall;
          const x = place * step;
          return (
            <g key={slice.at}>
              <rect className="bar" x={x} y={height - tall} width={step - 1} height={tall} />
              <rect className="bar bad" x={x} y={height - bad} width={step - 1} height={bad} />
            </g>
          );
        })}
      </svg>
      <span className="dim">{duration(mean)}</span>
    </span>
  );
}
