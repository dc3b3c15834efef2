import type { Slice } from '../api.ts';
import { count, duration } from '../words.ts';

const step = 5;
const maxSlices = 24;
const height = 28;

/** Calls per slice as bars, the failed part in another colour, and how long they took as a line; also said in words. */
export function Sparkline({ slices }: { slices: readonly Slice[] }) {
  const shown = slices.slice(-maxSlices);
  const calls = shown.reduce((sum, slice) => sum + slice.calls, 0);
  const failed = shown.reduce((sum, slice) => sum + slice.failed, 0);
  if (calls === 0) return <span className="dim">no recent calls</span>;
  const most = Math.max(...shown.map((slice) => slice.calls));
  const slowest = Math.max(...shown.map((slice) => slice.mean_ms ?? 0));
  const before = maxSlices - shown.length;
  const busy = shown.filter((slice) => slice.mean_ms !== null);
  const mean = busy.reduce((sum, slice) => sum + (slice.mean_ms ?? 0) * slice.calls, 0) / calls;
  const label = `${count(calls, 'call')}, ${failed} failed, ${duration(mean)} on average, in the last 2 hours`;
  return (
    <span className="sparkline">
      <svg width={maxSlices * step} height={height} role="img" aria-label={label}>
        <title>{label}</title>
        <rect className="bar none" y={height - 1} width={maxSlices * step - 1} height={1} />
        {shown.map((slice, place) => {
          const tall = (slice.calls / most) * (height - 2);
          const bad = slice.calls === 0 ? 0 : (slice.failed / slice.calls) * tall;
          const x = (before + place) * step;
          return (
            <g key={slice.at}>
              <rect className="bar" x={x} y={height - tall} width={step - 1} height={tall} />
              <rect className="bar bad" x={x} y={height - bad} width={step - 1} height={bad} />
            </g>
          );
        })}
        <polyline className="pace" points={pace(shown, before, slowest)} />
      </svg>
      <span className="dim">{duration(mean)}</span>
    </span>
  );
}

function pace(slices: readonly Slice[], before: number, slowest: number): string {
  if (slowest === 0) return '';
  return slices
    .flatMap(({ mean_ms: ms }, place) =>
      ms === null ? [] : [`${(before + place) * step + 2},${height - 2 - (ms / slowest) * (height - 4)}`],
    )
    .join(' ');
}
