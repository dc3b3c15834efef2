import { type ReactNode, useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import styles from './chart.module.css';

export interface ChartLine {
  name: string;
  /** A colour of the design tokens. */
  colour: string;
  values: readonly (number | null)[];
  kind?: 'line' | 'bars';
}

interface Props {
  title: string;
  /** Seconds since 1970, one for each value. */
  times: readonly number[];
  lines: readonly ChartLine[];
  format: (value: number) => string;
  /** What a screen reader says instead of the picture. */
  summary: string;
}

const height = 126;

export const Charts = ({ children }: { children: ReactNode }) => <div className={styles.charts}>{children}</div>;

/** Where a chart will be. */
export const ChartPlace = ({ title }: { title: string }) => (
  <div className={styles.chart}>
    <p className={styles.head}>
      <strong>{title}</strong>
    </p>
    <div className={styles.plot} />
  </div>
);

/** Values over time; those under the pointer are written above. */
export function Chart({ title, times, lines, format, summary }: Props) {
  const [at, setAt] = useState<number>();
  const shown = at ?? times.length - 1;
  return (
    <figure className={`${styles.chart} figure`} style={{ margin: 0 }}>
      <figcaption className={styles.head}>
        <strong>{title}</strong>
        {lines.map(({ name, colour, values }) => (
          <span key={name} className={styles.value} style={{ '--colour': `var(${colour})` } as React.CSSProperties}>
            {name} {at === undefined ? '' : toText(values[shown], format)}
          </span>
        ))}
      </figcaption>
      <Plot times={times} lines={lines} format={format} summary={summary} onPoint={setAt} />
    </figure>
  );
}

const toText = (value: number | null | undefined, format: Props['format']) => (value == null ? '–' : format(value));

function Plot({ times, lines, format, summary, onPoint }: Omit<Props, 'title'> & { onPoint: (at?: number) => void }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const theme = useColourScheme();
  const shape = `${theme} ${lines.map(({ name, colour, kind }) => `${name} ${colour} ${kind}`).join()}`;
  const latest = useRef({ times, lines, format, onPoint });
  latest.current = { times, lines, format, onPoint };

  // biome-ignore lint/correctness/useExhaustiveDependencies: made anew when its shape or the theme changes
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const created = new uPlot(
      optionsOf(element, latest.current.lines, {
        format: (value) => latest.current.format(value),
        onPoint: (at) => latest.current.onPoint(at),
      }),
      toData(latest.current),
      element,
    );
    plot.current = created;
    const observer = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      created.destroy();
      plot.current = undefined;
    };
  }, [shape]);
  useEffect(() => {
    plot.current?.setData(toData({ times, lines }));
  }, [times, lines]);
  return <div ref={place} className={styles.plot} role="img" aria-label={summary} />;
}

const toData = ({ times, lines }: Pick<Props, 'times' | 'lines'>) =>
  [times, ...lines.map(({ values }) => values)] as uPlot.AlignedData;

function optionsOf(
  element: HTMLElement,
  lines: readonly ChartLine[],
  { format, onPoint }: { format: Props['format']; onPoint: (at?: number) => void },
): uPlot.Options {
  const colourOf = createColours(element);
  const axis = { stroke: colourOf('--dim'), font: '11px "Inter Variable", sans-serif' };
  const line = { width: 1, stroke: colourOf('--chart-grid') };
  return {
    width: element.clientWidth,
    height,
    padding: [8, 14, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)] },
    scales: { y: { range: (_plot, _low, high) => [0, Math.max(high * 1.1, Number.MIN_VALUE) || 1] } },
    axes: [
      { ...axis, grid: { show: false }, ticks: { show: false }, size: 22, space: 70, values: toTimes },
      {
        ...axis,
        grid: line,
        ticks: { show: false },
        size: 52,
        space: 34,
        values: (_plot, values) => values.map((value) => format(value)),
      },
    ],
    series: [{}, ...lines.map((each) => seriesOf(each, colourOf))],
  };
}

/** The time of day, or the day where the labels are that far apart. */
function toTimes(_plot: uPlot, times: number[]): string[] {
  const isDays = times.length > 1 && (times.at(-1) ?? 0) - (times[0] ?? 0) > 100_000;
  return times.map((time) => {
    const date = new Date(time * 1_000);
    if (isDays) return date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
    return date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  });
}

function seriesOf({ name, colour, kind }: ChartLine, colourOf: (token: string) => string): uPlot.Series {
  const stroke = colourOf(colour);
  if (kind === 'bars') {
    const paths = uPlot.paths.bars?.({ size: [0.8, 24], align: 1 });
    return { label: name, stroke, fill: stroke, width: 0, paths, points: { show: false } };
  }
  return { label: name, stroke, width: 1.6, spanGaps: false, points: { size: 3 } };
}

/** A canvas knows no CSS variables, and no light-dark(): an element computes the colour. */
function createColours(element: HTMLElement): (token: string) => string {
  return (token) => {
    const probe = element.appendChild(document.createElement('i'));
    probe.style.color = `var(${token})`;
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
}

function useColourScheme(): string {
  const [scheme, setScheme] = useState('');
  useEffect(() => {
    const system = window.matchMedia('(prefers-color-scheme: dark)');
    const read = () => setScheme(`${document.documentElement.dataset.theme} ${system.matches}`);
    const observer = new MutationObserver(read);
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    system.addEventListener('change', read);
    read();
    return () => {
      observer.disconnect();
      system.removeEventListener('change', read);
    };
  }, []);
  return scheme;
}
