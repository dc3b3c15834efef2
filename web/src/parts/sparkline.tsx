const width = 104;
const height = 22;

/** Values over time as bars, the failed part in another colour. */
export function Sparkline({
  values,
  failed,
  label,
}: {
  values: readonly number[];
  failed: readonly number[];
  label: string;
}) {
  const highest = Math.max(...values, 1);
  const step = width / Math.max(values.length, 1);
  const bars = (numbers: readonly number[]) =>
    numbers
      .map((value, place) => {
        const tall = value === 0 ? 0 : Math.max(1.5, (value / highest) * height);
        return tall === 0
          ? ''
          : `M${(place * step).toFixed(1)},${height}v-${tall.toFixed(1)}h${(step * 0.75).toFixed(1)}V${height}z`;
      })
      .join('');
  return (
    <svg className="sparkline" width={width} height={height} role="img" aria-label={label}>
      <path className="bar none" d={`M0,${height - 1}h${width}v1H0z`} />
      <path className="bar" d={bars(values)} />
      <path className="bar bad" d={bars(failed)} />
    </svg>
  );
}
