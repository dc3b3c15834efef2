/** Scrapes fresh installations, during which no alert may fire, and then makes the fault of every alert. */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Fault, faults } from './faults.ts';
import {
  addUsualServers,
  type InstallationName,
  type Installations,
  installationNames,
  startInstallations,
} from './installations.ts';
import { type FiringAlert, startPrometheus } from './prometheus.ts';

export interface AlertOptions {
  /** Durations of the shipped files are divided by it; 1 changes nothing. */
  scale: number;
  /** How long fresh installations are watched, and how long a fault may take to be reported, unscaled. */
  quietMinutes: number;
  faultMinutes: number;
  isWanted?: (fault: Fault) => boolean;
  say?: (line: string) => void;
}

export interface AlertReport {
  /** What fired at a fresh installation. */
  quiet: FiringAlert[];
  fired: { fault: Fault; afterSeconds: number }[];
  missing: Fault[];
  /** What fired at the fresh installations while the others had faults. */
  strays: FiringAlert[];
  directory: string;
}

const everyMs = 500;
const fresh: readonly InstallationName[] = ['empty', 'used'];

export async function runAlerts(options: AlertOptions): Promise<AlertReport> {
  const { scale, quietMinutes, faultMinutes, isWanted = () => true, say = () => undefined } = options;
  const directory = mkdtempSync(join(tmpdir(), 'alerts-'));
  const files = join(directory, 'files');
  mkdirSync(files);
  const closers: (() => unknown)[] = [];
  const over = new AbortController();
  try {
    const world = await startInstallations(scale, directory);
    closers.push(() => world.close());
    await addUsualServers(world.at('used'), files);
    const wanted = faults.filter(isWanted);
    for (const fault of wanted) await fault.prepare?.(world, files);
    const targets = installationNames.map((name) => world.at(name).target);
    const prometheus = await startPrometheus({ directory: join(directory, 'prometheus'), targets, scale });
    closers.push(() => prometheus.close());
    const stopUse = use(world);
    closers.push(stopUse);

    say(
      `scraping ${targets.length} installations for ${quietMinutes} minutes${scale === 1 ? '' : `, ${scale} times as fast`}`,
    );
    const quiet = await collect(() => prometheus.firing(), (quietMinutes * 60_000) / scale);
    for (const { name, severity, instance, summary } of quiet)
      say(`FIRED  ${name} ${severity} at ${nameOf(world, instance)}: ${summary}`);

    const startedAt = performance.now();
    const running = wanted.map((fault) =>
      fault.make(world, { signal: over.signal, prometheus, scale }).then(
        () => undefined,
        // The installation may be gone by then; an alert that does not fire is reported anyway.
        (error: unknown) => say(`${fault.alert} ${fault.severity}: ${error}`),
      ),
    );
    const fired: AlertReport['fired'] = [];
    const strays = new Map<string, FiringAlert>();
    const giveUpAt = startedAt + (faultMinutes * 60_000) / scale;
    while (fired.length < wanted.length && performance.now() < giveUpAt) {
      const firing = await prometheus.firing();
      for (const alert of firing)
        if (fresh.some((name) => world.at(name).target === alert.instance)) strays.set(keyOf(alert), alert);
      for (const fault of wanted) {
        if (fired.some((one) => one.fault === fault) || !firing.some((alert) => isOf(alert, fault, world))) continue;
        fired.push({ fault, afterSeconds: (performance.now() - startedAt) / 1_000 });
        say(`fired after ${fired.at(-1)?.afterSeconds.toFixed(0)} s: ${fault.alert} ${fault.severity}`);
      }
      await delay(everyMs);
    }
    over.abort();
    await Promise.all(running);
    const missing = wanted.filter((fault) => !fired.some((one) => one.fault === fault));
    return { quiet, fired, missing, strays: [...strays.values()], directory };
  } finally {
    over.abort();
    for (const close of closers.reverse()) await close();
  }
}

const keyOf = ({ name, severity, instance }: FiringAlert) => `${name} ${severity} ${instance}`;

/** Some alerts are about a server and have no other instance label; these are told apart by their name. */
function isOf(alert: FiringAlert, { alert: name, severity, where }: Fault, world: Installations): boolean {
  return alert.name === name && alert.severity === severity && alert.instance === world.at(where).target;
}

const nameOf = (world: Installations, instance: string) =>
  installationNames.find((name) => world.at(name).target === instance) ?? instance;

/** Everything that fires within the time, each once. */
async function collect(firing: () => Promise<FiringAlert[]>, forMs: number): Promise<FiringAlert[]> {
  const seen = new Map<string, FiringAlert>();
  const until = performance.now() + forMs;
  while (performance.now() < until) {
    for (const alert of await firing()) seen.set(keyOf(alert), alert);
    await delay(everyMs);
  }
  return [...seen.values()];
}

/** The everyday use of an installation: a few calls and searches. */
function use({ at }: Installations): () => Promise<void> {
  const stopped = new AbortController();
  const running = (async () => {
    while (!stopped.signal.aborted) {
      await at('used').call('everything.echo', { message: 'hello' });
      await at('used').call('memory.read_graph');
      await at('used').api('POST', '/search', { query: 'read a file' });
      await delay(2_000, undefined, { signal: stopped.signal }).catch(() => undefined); // stopped
    }
  })();
  return async () => {
    stopped.abort();
    await running;
  };
}
