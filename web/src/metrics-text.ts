/** The few numbers of /metrics that the page shows. Pure. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export function parseMetrics(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (match === null || line.startsWith('#')) return [];
    const [, name = '', labels = '', value = ''] = match;
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [key, text]);
    return [
      { name, labels: Object.fromEntries(pairs), value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value) },
    ];
  });
}

/** A quantile of a histogram, within its bucket by straight line; all label sets together. */
export function quantile(samples: readonly Sample[], histogram: string, share: number): number | undefined {
  const buckets = new Map<number, number>();
  for (const { name, labels, value } of samples) {
    if (name !== `${histogram}_bucket` || labels.le === undefined) continue;
    const bound = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le);
    buckets.set(bound, (buckets.get(bound) ?? 0) + value);
  }
  const sorted = [...buckets].sort((a, b) => a[0] - b[0]);
  const total = sorted.at(-1)?.[1] ?? 0;
  if (total === 0) return undefined;
  const wanted = total * share;
  let [lower, below] = [0, 0];
  for (const [bound, number] of sorted) {
    if (number >= wanted) {
      if (!Number.isFinite(bound) || number === below) return lower;
      return lower + (bound - lower) * ((wanted - below) / (number - below));
    }
    [lower, below] = [bound, number];
  }
  return lower;
}

export const sumOf = (samples: readonly Sample[], name: string) =>
  samples.filter((sample) => sample.name === name).reduce((sum, { value }) => sum + value, 0);
