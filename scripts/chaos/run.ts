/** Real processes under a steady load, one fault after another by a seeded schedule, and what must hold afterwards. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startPostgres } from '../../test/support/postgres.ts';
import { hasRedis, startRedis } from '../../test/support/redis.ts';
import { stdioFeatureServer } from '../../test/support/servers/feature-server.ts';
import { type Fault, faults, missingFor, type World } from './faults.ts';
import { startFaultyServer } from './faulty-server.ts';
import { type Load, startLoad, type Tally } from './load.ts';
import { createRandom } from './random.ts';
import { commandOf, createReplica, descendants, type Memory, type Replica } from './replica.ts';

export interface ChaosOptions {
  seconds: number;
  seed: number;
  callsPerSecond?: number;
  say?: (line: string) => void;
}

export interface Injected {
  fault: string;
  /** From the end of the fault, until every server answers through every replica; undefined where it never did. */
  recoveryMs: number | undefined;
}

export interface ChaosReport {
  injected: Injected[];
  skipped: { fault: string; why: string }[];
  tally: Tally;
  registrations: number;
  missingRegistrations: string[];
  childrenLeft: string[];
  memory: { replica: string; before: number; after: number; rssBefore: number; rssAfter: number }[];
  /** What does not hold; empty when all is well. */
  violations: string[];
  /** The logs, kept where something does not hold. */
  directory: string;
}

const stdioNames = ['child-1', 'child-2'];
const httpNames = ['web-1', 'web-2'];
const warmUpMs = 6_000;
const recoveryPatienceMs = 60_000;
/** A replica tries to hear the others again after two seconds at most. */
const hearsayPatienceMs = 5_000;
const memoryGrowth = 1.1;

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seconds, seed, callsPerSecond = 40, say = () => undefined } = options;
  const random = createRandom(seed);
  const directory = mkdtempSync(join(tmpdir(), 'chaos-'));
  const closers: (() => unknown)[] = [];
  try {
    const world = await build(directory, seed, closers);
    const { replicas, solo } = world;
    say(`${replicas.length} replicas${solo === undefined ? '' : ' and one on a small disk'}; logs in ${directory}`);
    const servers = [...stdioNames, ...httpNames];
    await register(world);
    await untilRecovered(world, servers);

    const loads = [startLoad({ replicas, servers, callsPerSecond, random: createRandom(seed + 1) })];
    if (solo !== undefined)
      loads.push(
        startLoad({ replicas: [solo], servers: ['child-1'], callsPerSecond: 5, random: createRandom(seed + 2) }),
      );
    const registrar = startRegistrar(world, seed);
    const watched = watchChildren(world);
    await delay(warmUpMs);
    const before = await measureAll(replicas);

    const { injected, skipped } = await inject(world, servers, seconds * 1_000 - warmUpMs, say);

    const acknowledged = await registrar.stop();
    await Promise.all(loads.map((load) => load.stop()));
    const missingRegistrations = await findMissing(world, acknowledged);
    await removeAll(world, acknowledged);
    await delay(3_000); // what is kept for a moment after a call is let go
    const after = await measureAll(replicas);
    const codes = await Promise.all(
      [...replicas, ...(solo === undefined ? [] : [solo])].map((replica) => replica.stop()),
    );
    const childrenLeft = await watched.left();

    const tally = sum(loads);
    const memory = replicas.map(({ name }, place) => toGrowth(name, before[place], after[place]));
    const report: ChaosReport = {
      injected,
      skipped,
      tally,
      registrations: acknowledged.length,
      missingRegistrations,
      childrenLeft,
      memory,
      violations: [],
      directory,
    };
    report.violations = violationsOf(report, codes);
    return report;
  } finally {
    for (const close of closers.reverse()) await close();
  }

  async function inject(world: World, servers: string[], forMs: number, tell: (line: string) => void) {
    const injected: Injected[] = [];
    const skipped = faults.flatMap((fault) => {
      const why = missingFor(fault, world);
      return why === undefined ? [] : [{ fault: fault.name, why }];
    });
    const possible = faults.filter((fault) => missingFor(fault, world) === undefined);
    const until = performance.now() + forMs;
    let round: Fault[] = [];
    while (performance.now() < until) {
      // Each once, in a random order, before any of them twice.
      if (round.length === 0) round = random.shuffle(possible);
      const fault = round.shift();
      if (fault === undefined) break;
      const heal = await fault.strike(world);
      await delay(fault.holdMs);
      await heal();
      const recoveryMs = await untilRecovered(world, servers);
      injected.push({ fault: fault.name, recoveryMs });
      tell(
        `${fault.name}: ${recoveryMs === undefined ? 'NOT recovered' : `recovered after ${Math.round(recoveryMs)} ms`}`,
      );
      await delay(random.between(200, 800));
    }
    return { injected, skipped };
  }
}

async function build(directory: string, seed: number, closers: (() => unknown)[]): Promise<World> {
  const postgres = await startPostgres();
  closers.push(() => postgres.remove());
  const redis = hasRedis ? await startRedis() : undefined;
  closers.push(() => redis?.stop());
  const httpServers = await Promise.all(httpNames.map(startFaultyServer));
  closers.push(() => Promise.all(httpServers.map((server) => server.close())));
  const smallDisk = await mountSmallDisk(directory, closers);

  const common = {
    MCP_CREDENTIAL_KEY: randomBytes(32).toString('base64'),
    MCP_AGGREGATOR_REQUEST_TIMEOUT: '5',
    MCP_AGGREGATOR_CONNECTION_TIMEOUT: '5',
    MCP_AGGREGATOR_HEALTH_INTERVAL: '2',
    MCP_AGGREGATOR_MAX_SERVERS: '100000',
    MCP_AGGREGATOR_LOG_LEVEL: 'warn',
  };
  const shared = { DATABASE_URL: postgres.url, ...(redis === undefined ? {} : { REDIS_URL: redis.url }) };
  const replicas: Replica[] = [];
  for (const name of ['replica-1', 'replica-2']) {
    const replica = await createReplica({
      name,
      directory,
      env: { ...common, ...shared },
    });
    closers.push(() => replica.kill());
    await replica.start();
    replicas.push(replica);
  }
  let solo: Replica | undefined;
  if (smallDisk !== undefined) {
    const created = await createReplica({
      name: 'solo',
      directory,
      dataDir: join(smallDisk, 'data'),
      env: common,
    });
    closers.push(() => created.kill());
    await created.start();
    solo = created;
  }
  return { replicas, solo, smallDisk, postgres, redis, httpServers, random: createRandom(seed + 3) };
}

/** As root on Linux; elsewhere there is no disk that we may fill. */
async function mountSmallDisk(directory: string, closers: (() => unknown)[]): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined;
  const path = join(directory, 'small-disk');
  await mkdir(path);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m,mode=0700', 'tmpfs', path], { stdio: 'pipe' });
  } catch {
    return undefined; // root of a container that may not mount
  }
  closers.push(() => execFileSync('umount', [path]));
  return path;
}

async function register({ replicas, solo, httpServers }: World): Promise<void> {
  const [first] = replicas;
  for (const name of stdioNames) {
    const registration = {
      name,
      transport_type: 'STDIO',
      connection_config: stdioFeatureServer('legacy', { label: name }),
    };
    await first?.api('POST', '/aggregator/servers', registration);
    if (name === stdioNames[0]) await solo?.api('POST', '/aggregator/servers', registration);
  }
  for (const [place, name] of httpNames.entries()) {
    const connection_config = { base_url: httpServers[place]?.url };
    await first?.api('POST', '/aggregator/servers', { name, transport_type: 'HTTP', connection_config });
  }
}

/** How long until every server answers through every replica, and every replica calls itself healthy. */
async function untilRecovered({ replicas, solo }: World, servers: readonly string[]): Promise<number | undefined> {
  const started = performance.now();
  const wanted = [
    ...replicas.map((replica) => ({ replica, servers })),
    ...(solo === undefined ? [] : [{ replica: solo, servers: ['child-1'] }]),
  ];
  while (performance.now() - started < recoveryPatienceMs) {
    const answers = await Promise.all(
      wanted.flatMap(({ replica, servers: names }) => names.map((name) => answersWell(replica, name))),
    );
    const healthy = await Promise.all(wanted.map(({ replica }) => isHealthy(replica)));
    if ([...answers, ...healthy].every(Boolean)) return performance.now() - started;
    await delay(50);
  }
  return undefined;
}

async function answersWell(replica: Replica, server: string): Promise<boolean> {
  const call = { name: `${server}.echo`, arguments: { text: 'well?' } };
  const answer = await replica.api('POST', '/tools/call', call, AbortSignal.timeout(5_000)).catch(() => undefined);
  return answer?.status === 200;
}

async function isHealthy(replica: Replica): Promise<boolean> {
  const answer = await replica
    .api('GET', '/aggregator/health', undefined, AbortSignal.timeout(5_000))
    .catch(() => undefined); // not there
  return answer?.status === 200;
}

/** Registers servers all the while; what was answered with 201 must be there for ever. */
function startRegistrar({ replicas, solo }: World, seed: number) {
  const random = createRandom(seed + 4);
  const stopped = new AbortController();
  const acknowledged: { name: string; solo: boolean }[] = [];
  const running = (async () => {
    for (let number = 1; !stopped.signal.aborted; number += 1) {
      const onSolo = solo !== undefined && number % 3 === 0;
      const target = onSolo ? solo : random.pick(replicas);
      const name = `registered-${number}`;
      const registration = {
        name,
        transport_type: 'STDIO',
        connection_config: { command: 'true', env: { NUMBER: `secret ${number}` } },
        auto_connect: false,
      };
      const answer = await target
        .api('POST', '/aggregator/servers', registration, AbortSignal.timeout(60_000))
        .catch(() => undefined); // not acknowledged: it may be there or not
      if (answer?.status === 201) acknowledged.push({ name, solo: onSolo });
      await delay(300, undefined, { signal: stopped.signal }).catch(() => undefined); // stopped
    }
  })();
  return {
    async stop() {
      stopped.abort();
      await running;
      return acknowledged;
    },
  };
}

/** What one replica acknowledged, the other hears of: at once, or after a fault when its connections are back. */
async function findMissing(world: World, acknowledged: { name: string; solo: boolean }[]): Promise<string[]> {
  const giveUpAt = performance.now() + hearsayPatienceMs;
  for (;;) {
    const missing = await lookForMissing(world, acknowledged);
    if (missing.length === 0 || performance.now() > giveUpAt) return missing;
    await delay(100);
  }
}

async function lookForMissing(
  { replicas, solo }: World,
  acknowledged: { name: string; solo: boolean }[],
): Promise<string[]> {
  const missing: string[] = [];
  const holders = [
    ...replicas.map((replica) => ({ replica, solo: false })),
    ...(solo === undefined ? [] : [{ replica: solo, solo: true }]),
  ];
  for (const { replica, solo: onSolo } of holders) {
    const { body } = await replica.api('GET', '/aggregator/servers?limit=1000');
    const names = new Set((body as { servers: { name: string }[] }).servers.map(({ name }) => name));
    for (const entry of acknowledged) {
      if (entry.solo === onSolo && !names.has(entry.name)) missing.push(`${entry.name} on ${replica.name}`);
    }
  }
  return missing;
}

/** Servers take room, rightly so: without them memory must be what it was. */
async function removeAll(
  { replicas: [first], solo }: World,
  acknowledged: { name: string; solo: boolean }[],
): Promise<void> {
  const waiting = [...acknowledged];
  const worker = async () => {
    for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
      await (entry.solo ? solo : first)?.api('DELETE', `/aggregator/servers/${entry.name}`);
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
}

/** Every process that was ever below a replica. */
function watchChildren({ replicas, solo }: World) {
  const seen = new Map<number, string>();
  const look = () => {
    for (const { pid } of [...replicas, ...(solo === undefined ? [] : [solo])]) {
      for (const child of pid === 0 ? [] : descendants(pid)) seen.set(child, commandOf(child));
    }
  };
  const timer = setInterval(look, 250);
  return {
    async left(): Promise<string[]> {
      look();
      clearInterval(timer);
      const remaining = () => [...seen].filter(([pid, command]) => command !== '' && commandOf(pid) === command);
      for (let waited = 0; waited < 5_000 && remaining().length > 0; waited += 100) await delay(100);
      return remaining().map(([pid, command]) => `${pid} ${command}`);
    },
  };
}

const measureAll = (replicas: readonly Replica[]) => Promise.all(replicas.map((replica) => replica.measure()));

function toGrowth(replica: string, before: Memory | undefined, after: Memory | undefined) {
  const used = (memory: Memory | undefined) => (memory?.heapUsed ?? 0) + (memory?.external ?? 0);
  return { replica, before: used(before), after: used(after), rssBefore: before?.rss ?? 0, rssAfter: after?.rss ?? 0 };
}

function sum(loads: readonly Load[]): Tally {
  const total: Tally = { sent: 0, results: 0, errors: new Map(), refused: 0, lost: [], wrong: [] };
  for (const { tally } of loads) {
    total.sent += tally.sent;
    total.results += tally.results;
    total.refused += tally.refused;
    total.lost.push(...tally.lost);
    total.wrong.push(...tally.wrong);
    for (const [code, count] of tally.errors) total.errors.set(code, (total.errors.get(code) ?? 0) + count);
  }
  return total;
}

function violationsOf(report: ChaosReport, exitCodes: readonly (number | null)[]): string[] {
  const { tally, injected, missingRegistrations, childrenLeft, memory } = report;
  const errors = [...tally.errors.values()].reduce((total, count) => total + count, 0);
  const answers = tally.results + errors + tally.refused;
  return [
    ...tally.lost.map((call) => `lost: ${call}`),
    ...tally.wrong.map((call) => `wrong: ${call}`),
    ...(answers + tally.lost.length + tally.wrong.length === tally.sent
      ? []
      : ['calls and answers are not the same number']),
    ...injected.filter(({ recoveryMs }) => recoveryMs === undefined).map(({ fault }) => `no recovery from: ${fault}`),
    ...missingRegistrations.map((name) => `acknowledged, but not there: ${name}`),
    ...childrenLeft.map((child) => `left behind: ${child}`),
    ...memory
      .filter(({ before, after }) => after > before * memoryGrowth)
      .map(
        ({ replica, before, after }) =>
          `memory of ${replica}: ${toMegabytes(before)} before, ${toMegabytes(after)} after`,
      ),
    ...exitCodes.filter((code) => code !== 0).map((code) => `a replica ended with ${code} after SIGTERM`),
  ];
}

export const toMegabytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MB`;

/** The logs are of use only where something went wrong. */
export function tidy({ violations, directory }: ChaosReport): void {
  if (violations.length === 0) rmSync(directory, { recursive: true, force: true });
}
