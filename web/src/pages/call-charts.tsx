import { Chart, ChartPlace, Charts } from '../parts/chart.tsx';
import { perSecond, type Statistics, timesOf } from '../statistics.ts';
import { count, duration } from '../words.ts';

/** Keeps its place while the numbers are read. */
export function CallCharts({ statistics }: { statistics: Statistics | undefined }) {
  if (statistics === undefined) {
    return (
      <Charts>
        {['Calls', 'Errors', 'Latency'].map((title) => (
          <ChartPlace key={title} title={title} />
        ))}
      </Charts>
    );
  }
  const { total, step } = statistics;
  const times = timesOf(statistics);
  const { points } = total;
  const rate = (value: number) => value / step;
  return (
    <Charts>
      <Chart
        title="Calls"
        times={times}
        lines={[{ name: 'per second', colour: '--chart-calls', values: points.calls.map(rate), kind: 'bars' }]}
        format={(value) => perSecond(value)}
        summary={`${count(total.calls, 'call')}, ${perSecond(total.calls_per_second)} on average`}
      />
      <Chart
        title="Errors"
        times={times}
        lines={[
          { name: 'failed', colour: '--chart-errors', values: points.failed, kind: 'bars' },
          { name: 'tool errors', colour: '--chart-p95', values: points.tool_errors, kind: 'line' },
        ]}
        format={(value) => String(Math.round(value))}
        summary={`${total.failed} failed, ${count(total.tool_errors, 'tool error')}`}
      />
      <Chart
        title="Latency"
        times={times}
        lines={[
          { name: 'p50', colour: '--chart-p50', values: points.p50_ms },
          { name: 'p95', colour: '--chart-p95', values: points.p95_ms },
        ]}
        format={duration}
        summary={
          total.p50_ms === null ? 'No calls' : `p50 ${duration(total.p50_ms)}, p95 ${duration(total.p95_ms ?? 0)}`
        }
      />
    </Charts>
  );
}
