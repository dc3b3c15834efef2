/** Counters, histograms and values read on demand, in the text format that Prometheus scrapes. */
import { sameList } from './lists.ts';

export type Sample = readonly [labels: readonly string[], value: number];
type MaybePromise<T> = T | Promise<T>;

interface Counter {
  add(amount: number, ...labels: string[]): void;
  /** Removes the series of something that no longer exists; the first label names it. */
  forget(first: string): void;
}

interface Histogram {
  observe(value: number, ...labels: string[]): void;
  forget(first: string): void;
}

/** `untyped` is for the gauges (MON-001) whose names end in `_total`, which only counters may. */
type ReadType = 'counter' | 'gauge' | 'untyped';

interface Exposition {
  counter(name: string, help: string, labels?: readonly string[]): Counter;
  histogram(name: string, help: string, buckets: readonly number[], labels?: readonly string[]): Histogram;
  /** Values that are kept elsewhere; read at every scrape. */
  read(
    type: ReadType,
    name: string,
    help: string,
    labels: readonly string[],
    samples: () => MaybePromise<Iterable<Sample>>,
  ): void;
  /** With `keep`: only the labelled series that it selects. */
  render(keep?: KeepSeries): Promise<string>;
}

export type KeepSeries = (labels: ReadonlyMap<string, string>) => boolean;

export const contentType = 'text/plain; version=0.0.4; charset=utf-8';

export function createExposition(): Exposition {
  const families = new Map<string, (keep?: KeepSeries) => Promise<string>>();

  function add(
    name: string,
    type: string,
    help: string,
    body: (keeps: Keeps) => MaybePromise<string[]>,
    names: readonly string[],
  ): void {
    if (families.has(name)) throw new Error(`The metric ${name} exists already`);
    const head = `# HELP ${name} ${help.replace(/[\\\n]/g, escapeText)}\n# TYPE ${name} ${type}\n`;
    families.set(name, async (keep) => {
      const keeps: Keeps = (values) =>
        keep === undefined || keep(new Map(names.map((label, place) => [label, values[place] ?? ''])));
      const lines = await body(keeps);
      return lines.length === 0 ? '' : `${head}${lines.join('\n')}\n`;
    });
  }

  return {
    counter(name, help, labels = []) {
      const series = createSeries(labels, () => ({ value: 0 }));
      if (labels.length === 0) series.at([]);
      add(
        name,
        'counter',
        help,
        (keeps) => series.all(keeps).map(({ text, state }) => line(name, text, state.value)),
        labels,
      );
      return {
        add(amount, ...values) {
          series.at(values).value += amount;
        },
        forget: series.forget,
      };
    },

    histogram(name, help, buckets, labels = []) {
      const series = createSeries(labels, () => ({ counts: new Float64Array(buckets.length + 1), sum: 0 }));
      if (labels.length === 0) series.at([]);
      add(
        name,
        'histogram',
        help,
        (keeps) => series.all(keeps).flatMap(({ text, state }) => histogramLines(name, text, buckets, state)),
        labels,
      );
      return {
        observe(value, ...values) {
          const state = series.at(values);
          let place = 0;
          while (place < buckets.length && value > (buckets[place] ?? 0)) place += 1;
          state.counts[place] = (state.counts[place] ?? 0) + 1;
          state.sum += value;
        },
        forget: series.forget,
      };
    },

    read(type, name, help, labels, samples) {
      add(
        name,
        type,
        help,
        async (keeps) =>
          [...(await samples())]
            .filter(([values]) => keeps(values))
            .map(([values, value]) => line(name, labelText(labels, values), value)),
        labels,
      );
    },

    async render(keep) {
      return (await Promise.all([...families.values()].map((family) => family(keep)))).join('');
    },
  };
}

type Keeps = (labelValues: readonly string[]) => boolean;

/** One state per combination of label values. The last one is cached, because most calls repeat the previous labels. */
function createSeries<State>(names: readonly string[], create: () => State) {
  const known = new Map<string, { values: readonly string[]; text: string; state: State }>();
  let latest: { values: readonly string[]; state: State } | undefined;

  function find(values: readonly string[]) {
    const key = values.join('\0');
    const entry = known.get(key) ?? { values, text: labelText(names, values), state: create() };
    known.set(key, entry);
    return entry;
  }

  return {
    at(values: readonly string[]): State {
      if (latest === undefined || !sameList(values, latest.values)) latest = find(values);
      return latest.state;
    },
    all: (keeps: Keeps) => [...known.values()].filter(({ values }) => keeps(values)),
    forget(first: string): void {
      latest = undefined;
      for (const [key, { values }] of known) if (values[0] === first) known.delete(key);
    },
  };
}

function histogramLines(
  name: string,
  labels: string,
  buckets: readonly number[],
  { counts, sum }: { counts: Float64Array; sum: number },
): string[] {
  const lines: string[] = [];
  let count = 0;
  for (const [place, upper] of [...buckets, Number.POSITIVE_INFINITY].entries()) {
    count += counts[place] ?? 0;
    lines.push(line(`${name}_bucket`, `${labels === '' ? '' : `${labels},`}le="${number(upper)}"`, count));
  }
  lines.push(line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, count));
  return lines;
}

function line(name: string, labels: string, value: number): string {
  return labels === '' ? `${name} ${number(value)}` : `${name}{${labels}} ${number(value)}`;
}

function labelText(names: readonly string[], values: readonly string[]): string {
  return names.map((name, place) => `${name}="${(values[place] ?? '').replace(/[\\\n"]/g, escapeText)}"`).join(',');
}

function escapeText(character: string): string {
  return character === '\n' ? '\\n' : `\\${character}`;
}

function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}
