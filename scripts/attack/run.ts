/**
 * Bad servers, one after the other, beside a good one that is called all the time. This process only calls and takes the
 * time; bad servers and their users are processes of their own.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectTo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Aggregator, startAggregator } from '../../bench/aggregator.ts';
import { percentile } from '../../bench/table.ts';
import { nodeFlags } from '../../src/cli/own-program.ts';
import { stdioFeatureServer } from '../../test/support/servers/feature-server.ts';
import { httpManners } from './bad-http.ts';
import { stdioManners } from './bad-stdio.ts';
import { type LoopReport, socketVariable } from './loop-probe.ts';
import type { Task } from './use-bad-server.ts';

export interface Behaviour {
  transport: 'STDIO' | 'HTTP';
  moment: string;
  manner: string;
}

const moments = { initialize: 'initialize', list: 'tools/list', call: 'tools/call' };

export const behaviours: Behaviour[] = [
  ...Object.values(moments).flatMap((moment) =>
    stdioManners.map((manner) => ({ transport: 'STDIO' as const, moment, manner })),
  ),
  ...[moments.list, moments.call].flatMap((moment) =>
    httpManners.map((manner) => ({ transport: 'HTTP' as const, moment, manner })),
  ),
];

export interface Outcome {
  behaviour: Behaviour;
  /** Of calls of the good server while the bad one was there. */
  calls: number;
  failed: number;
  p99: number;
  memoryMb: number;
  /** Of the aggregator, in all. */
  cpuMs: number;
  /** For how long it kept its event loop busy. */
  loop: LoopReport;
  /** What the bad server's row says. */
  said: string;
}

export interface Attack {
  /** Of all calls while there was no bad server: before the first one, and between any two. */
  quietP99: number;
  outcomes: Outcome[];
}

export interface AttackOptions {
  behaviours: readonly Behaviour[];
  /** How long each bad server is there, and how long the good one is alone before. */
  secondsEach: number;
  quietSeconds: number;
  onOutcome?(outcome: Outcome): void;
}

const api = '/api/v1/aggregator/servers';

export async function runAttack({
  behaviours: chosen,
  secondsEach,
  quietSeconds,
  onOutcome,
}: AttackOptions): Promise<Attack> {
  const probe = join(tmpdir(), `loop-probe-${process.pid}`);
  const aggregator = await startAggregator({ MCP_AGGREGATOR_LOG_LEVEL: 'silent', [socketVariable]: probe }, [
    ...nodeFlags,
    '--import',
    programs.probe,
  ]);
  const user = fork(programs.user, { execArgv: ['--disable-warning=ExperimentalWarning'] });
  try {
    await aggregator.register('good', { transport_type: 'STDIO', connection_config: stdioFeatureServer('legacy') });
    await measure(aggregator, 2_000);
    const quiet: number[] = [];
    const outcomes: Outcome[] = [];
    for (const behaviour of chosen) {
      quiet.push(...(await measure(aggregator, quietSeconds * 1_000)).times);
      const outcome = await endure({ aggregator, user, probe }, behaviour, secondsEach * 1_000);
      outcomes.push(outcome);
      onOutcome?.(outcome);
    }
    return { quietP99: percentile(quiet, 99), outcomes };
  } finally {
    user.kill();
    await aggregator.close();
  }
}

interface Scene {
  aggregator: Aggregator;
  user: ChildProcess;
  probe: string;
}

async function endure({ aggregator, user, probe }: Scene, behaviour: Behaviour, ms: number): Promise<Outcome> {
  const bad = await connect(behaviour);
  const name = `bad-${behaviour.transport.toLowerCase()}`;
  try {
    const { id } = (await aggregator.request('POST', api, { name, ...bad.connection })) as { id: string };
    const { url, adminToken } = aggregator;
    user.send({ url, adminToken, server: name, ms } satisfies Task);
    await ask(probe); // each reading starts anew
    const cpuBefore = await aggregator.cpuMs();
    const { times, failed } = await measure(aggregator, ms);
    const cpuMs = (await aggregator.cpuMs()) - cpuBefore;
    const loop = await ask(probe);
    const memoryMb = await aggregator.memoryMb();
    const { status, error_message: error } = (await aggregator.request('GET', `${api}/${id}`)) as {
      status: string;
      error_message: string | null;
    };
    await aggregator.request('DELETE', `${api}/${id}`);
    const said = [status, error ?? ''].join(' ').replace(/\s+/g, ' ').slice(0, 100).trim();
    return { behaviour, calls: times.length, failed, p99: percentile(times, 99), memoryMb, cpuMs, loop, said };
  } finally {
    bad.close();
  }
}

const ask = async (probe: string): Promise<LoopReport> => (await json(connectTo(probe))) as LoopReport;

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const programs = {
  STDIO: path('bad-stdio.ts'),
  HTTP: path('bad-http.ts'),
  user: path('use-bad-server.ts'),
  probe: path('loop-probe.ts'),
};

async function connect({ transport, moment, manner }: Behaviour): Promise<{ connection: object; close(): void }> {
  const args = ['--disable-warning=ExperimentalWarning', programs[transport], moment, manner];
  if (transport === 'STDIO') {
    const config = { command: process.execPath, args };
    return { connection: { transport_type: transport, connection_config: config }, close: () => undefined };
  }
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { connection: { transport_type: transport, connection_config: { base_url: url } }, close: () => child.kill() };
}

/** Four callers, one call after the other each. */
const callers = 4;
const pauseMs = 15;

async function measure(aggregator: Aggregator, ms: number): Promise<{ times: number[]; failed: number }> {
  const until = performance.now() + ms;
  const times: number[] = [];
  let failed = 0;
  const call = async (): Promise<void> => {
    while (performance.now() < until) {
      const started = performance.now();
      try {
        await aggregator.request('POST', '/api/v1/tools/call', {
          name: 'good.echo',
          arguments: { message: 'hello', text: 'hello' },
        });
      } catch {
        failed += 1;
      }
      times.push(performance.now() - started);
      await delay(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return { times, failed };
}
