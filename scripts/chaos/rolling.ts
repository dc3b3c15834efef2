/** Three real processes behind a load balancer of the system, restarted in turn under load: no call may fail. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startPostgres } from '../../test/support/postgres.ts';
import { hasRedis, startRedis } from '../../test/support/redis.ts';
import { stdioFeatureServer } from '../../test/support/servers/feature-server.ts';
import { type CountingServer, startCountingServer } from './counting-server.ts';
import { type ProxyName, startProxy } from './proxies.ts';
import { createRandom } from './random.ts';
import { createReplica, type Replica } from './replica.ts';
import { type Surface, type SurfaceTally, startRollingLoad } from './rolling-load.ts';

export interface RollingOptions {
  proxy: ProxyName;
  rounds: number;
  callsPerSecond: number;
  seed: number;
  users?: number;
  say?: (line: string) => void;
}

export interface RollingReport {
  proxy: ProxyName;
  restarts: number;
  seconds: number;
  tallies: ReadonlyMap<Surface, SurfaceTally>;
  streamsReopened: number;
  /** Texts of calls that a server executed more than once. */
  executedTwice: string[];
  /** What does not hold; empty when all is well. */
  violations: string[];
  /** The logs. */
  directory: string;
}

const replicaNames = ['replica-1', 'replica-2', 'replica-3'];
const readyTimeoutMs = 60_000;
/** Load before the first restart, between two, and after the last one. */
const pauseMs = 2_000;

export async function runRolling(options: RollingOptions): Promise<RollingReport> {
  const { proxy: proxyName, rounds, callsPerSecond, seed, users = 24, say = () => undefined } = options;
  const directory = mkdtempSync(join(tmpdir(), 'rolling-'));
  const closers: (() => unknown)[] = [];
  const exitCodes: (number | null)[] = [];
  try {
    const { replicas, counting } = await build(directory, closers);
    const proxy = await startProxy(
      proxyName,
      join(directory, proxyName),
      replicas.map(({ url }) => new URL(url).host),
    );
    closers.push(() => proxy.close());
    say(`${proxyName} in front of ${replicas.length} replicas; logs in ${directory}`);
    const names = await register(replicas, counting);
    const tokens = await createTokens(replicas, users);
    const startedAt = performance.now();
    const load = await startRollingLoad({
      url: proxy.url,
      tokens,
      servers: names,
      callsPerSecond,
      random: createRandom(seed),
    });
    await delay(pauseMs);
    for (let round = 1; round <= rounds; round += 1) {
      for (const replica of replicas) {
        const since = performance.now();
        exitCodes.push(await replica.stop());
        const stopMs = performance.now() - since;
        await replica.start();
        await untilReady(replica);
        const failures = [...load.tallies.values()].reduce((sum, tally) => sum + tally.failures.length, 0);
        say(
          `round ${round}, ${replica.name}: stopped in ${seconds(stopMs)} s, ready after ${seconds(performance.now() - since)} s, ${failures} failed calls so far`,
        );
        await delay(pauseMs);
      }
    }
    await load.stop();
    const elapsed = (performance.now() - startedAt) / 1_000;
    exitCodes.push(...(await Promise.all(replicas.map((replica) => replica.stop()))));
    const executions = counting.flatMap(({ executions: counted }) => [...counted]);
    const executedTwice = executions.filter(([text, count]) => count > 1 && load.sent.has(text)).map(([text]) => text);
    const report: RollingReport = {
      proxy: proxyName,
      restarts: rounds * replicas.length,
      seconds: elapsed,
      tallies: load.tallies,
      streamsReopened: load.streamsReopened,
      executedTwice,
      violations: [],
      directory,
    };
    report.violations = violationsOf(report, exitCodes);
    return report;
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

const seconds = (ms: number) => (ms / 1_000).toFixed(1);

async function build(directory: string, closers: (() => unknown)[]) {
  const postgres = await startPostgres();
  closers.push(() => postgres.remove());
  const redis = hasRedis ? await startRedis() : undefined;
  closers.push(() => redis?.stop());
  const counting = await Promise.all([
    startCountingServer('streamable-legacy', 'old'),
    startCountingServer('streamable-modern', 'new'),
  ]);
  closers.push(() => Promise.all(counting.map((server) => server.close())));
  const env = {
    DATABASE_URL: postgres.url,
    ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
    MCP_CREDENTIAL_KEY: randomBytes(32).toString('base64'),
    MCP_AGGREGATOR_TRUSTED_PROXIES: 'loopback',
    MCP_AGGREGATOR_SHUTDOWN_DELAY: '3',
    MCP_AGGREGATOR_LOG_FORMAT: 'json',
    MCP_AGGREGATOR_LOG_LEVEL: 'info',
  };
  const replicas: Replica[] = [];
  for (const name of replicaNames) {
    const replica = await createReplica({ name, directory, env });
    closers.push(() => replica.kill());
    await replica.start();
    await untilReady(replica);
    replicas.push(replica);
  }
  return { replicas, counting };
}

async function register(replicas: readonly Replica[], [old, modern]: readonly CountingServer[]): Promise<string[]> {
  const registrations = [
    { name: 'old', transport_type: 'HTTP', connection_config: { base_url: old?.url } },
    { name: 'new', transport_type: 'HTTP', connection_config: { base_url: modern?.url } },
    { name: 'child', transport_type: 'STDIO', connection_config: stdioFeatureServer('legacy', { label: 'child' }) },
  ];
  for (const registration of registrations) {
    const { status, body } = await (replicas[0] as Replica).api('POST', '/aggregator/servers', registration);
    if (status !== 201) throw new Error(`registration: ${status} ${JSON.stringify(body)}`);
  }
  const names = registrations.map(({ name }) => name);
  for (const replica of replicas) {
    for (const name of names) {
      await untilTrue(`${replica.name} knows ${name}`, async () => {
        const call = { name: `${name}.echo`, arguments: { text: 'there?' } };
        return (await replica.api('POST', '/tools/call', call)).status === 200;
      });
    }
  }
  return names;
}

/** One for each user: the shipped files keep a user at one replica. */
async function createTokens(replicas: readonly Replica[], count: number): Promise<string[]> {
  const [first] = replicas;
  const tokens: string[] = [];
  for (let number = 1; number <= count; number += 1) {
    const { body } = (await first?.api('POST', '/tokens', { name: `user-${number}`, role: 'caller' })) ?? {};
    tokens.push((body as { token: string }).token);
  }
  const headers = { authorization: `Bearer ${tokens.at(-1)}` };
  for (const replica of replicas) {
    await untilTrue(`${replica.name} knows the tokens`, async () => {
      const answer = await replica.send('/api/v1/aggregator/state', { method: 'GET', headers });
      return answer.status === 200;
    });
  }
  return tokens;
}

const untilReady = (replica: Replica) =>
  untilTrue(`${replica.name} is ready`, async () => {
    const answer = await replica.send('/readyz', { method: 'GET', headers: {} });
    return answer.status === 200;
  });

async function untilTrue(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + readyTimeoutMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`gave up waiting until ${what}`);
    await delay(50);
  }
}

function violationsOf(report: RollingReport, exitCodes: readonly (number | null)[]): string[] {
  return [
    ...[...report.tallies].flatMap(([surface, { calls, failures }]) =>
      calls === 0 ? [`no calls over ${surface}`] : failures,
    ),
    ...report.executedTwice.map((text) => `executed more than once: ${text}`),
    ...exitCodes.filter((code) => code !== 0).map((code) => `a replica ended with ${code} after SIGTERM`),
  ];
}
