/** Debian's Prometheus with the shipped files; only targets and paths are replaced, and with a scale, durations. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../test/support/ports.ts';

export interface FiringAlert {
  name: string;
  severity: string;
  instance: string;
  summary: string;
}

export interface Prometheus {
  /** What fires now. */
  firing(): Promise<FiringAlert[]>;
  /** The value of a query that has one result. */
  value(query: string): Promise<number | undefined>;
  close(): Promise<void>;
}

interface PrometheusOptions {
  directory: string;
  /** host:port */
  targets: readonly string[];
  /** Durations are divided by it. */
  scale: number;
}

export const hasPrometheus = spawnSync('prometheus', ['--version']).status === 0;
const startTimeoutMs = 30_000;
const shipped = (name: string) => readFileSync(new URL(`../../deploy/prometheus/${name}`, import.meta.url), 'utf8');

/** `for: 5m`, `[5m]` and intervals; nothing else in the files is a duration. */
export function scaleDurations(text: string, scale: number): string {
  return text.replace(/(for: |\[|_interval: )(\d+)([ms])\b/g, (_all, before: string, count: string, unit: string) => {
    const ms = (Number(count) * (unit === 'm' ? 60_000 : 1_000)) / scale;
    return `${before}${ms % 1_000 === 0 ? `${ms / 1_000}s` : `${Math.round(ms)}ms`}`;
  });
}

export async function startPrometheus({ directory, targets, scale }: PrometheusOptions): Promise<Prometheus> {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'alerts.yml'), scaleDurations(shipped('alerts.yml'), scale));
  writeFileSync(
    join(directory, 'prometheus.yml'),
    withTargets(scaleDurations(shipped('prometheus.yml'), scale), targets),
  );
  const port = await freePort();
  const words = [
    `--config.file=${join(directory, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(directory, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=warn',
  ];
  const child = spawn('prometheus', words, { stdio: ['ignore', 'pipe', 'pipe'] });
  const log = createWriteStream(join(directory, 'prometheus.log'));
  for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
  const ask = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).json();

  const deadline = performance.now() + startTimeoutMs;
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/-/ready`).catch(() => undefined); // not listening yet
    if (answer?.ok === true) break;
    if (child.exitCode !== null || performance.now() > deadline)
      throw new Error(`Prometheus did not start; see ${directory}/prometheus.log`);
    await delay(100);
  }

  return {
    async firing() {
      const { data } = (await ask('/api/v1/alerts')) as { data: { alerts: ApiAlert[] } };
      return data.alerts
        .filter(({ state }) => state === 'firing')
        .map(({ labels, annotations }) => ({
          name: labels.alertname ?? '',
          severity: labels.severity ?? '',
          instance: labels.instance ?? '',
          summary: annotations.summary ?? '',
        }));
    },
    async value(query) {
      const { data } = (await ask(`/api/v1/query?query=${encodeURIComponent(query)}`)) as { data: QueryResult };
      const [only] = data.result;
      return only === undefined ? undefined : Number(only.value[1]);
    },
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

interface ApiAlert {
  state: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

interface QueryResult {
  result: { value: [number, string] }[];
}

function withTargets(text: string, targets: readonly string[]): string {
  const line = /- targets: \[.*\]/;
  if (!line.test(text)) throw new Error('deploy/prometheus/prometheus.yml names no targets');
  return text.replace(line, `- targets: [${targets.map((target) => `'${target}'`).join(', ')}]`);
}
