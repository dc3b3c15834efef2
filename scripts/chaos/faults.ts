/** What can go wrong, as things that begin and end. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Service } from '../../test/support/postgres.ts';
import type { FaultyServer } from './faulty-server.ts';
import type { Random } from './random.ts';
import { commandOf, descendants, type Replica } from './replica.ts';

export interface World {
  replicas: Replica[];
  /** An aggregator with an embedded database on a small disk; undefined where none can be mounted. */
  solo: Replica | undefined;
  smallDisk: string | undefined;
  postgres: Service;
  redis: Service | undefined;
  httpServers: FaultyServer[];
  random: Random;
}

export interface Fault {
  name: string;
  /** How long it lasts; 0 for what is over at once. */
  holdMs: number;
  /** Begins; the function that ends it. */
  strike(world: World): Promise<() => Promise<void>>;
}

const nothing = async () => undefined;
const hourMs = 3_600_000;

export const faults: readonly Fault[] = [
  {
    name: 'server child killed',
    holdMs: 0,
    async strike(world) {
      signalChild(world, 'SIGKILL');
      return nothing;
    },
  },
  {
    name: 'server child hanging',
    holdMs: 4_000,
    async strike(world) {
      const pid = signalChild(world, 'SIGSTOP');
      // It may have been given up and replaced meanwhile.
      return async () => void (commandOf(pid) !== '' && process.kill(pid, 'SIGCONT'));
    },
  },
  { name: 'HTTP server hanging', holdMs: 4_000, strike: (world) => behave(world, 'hanging') },
  { name: 'HTTP server slow', holdMs: 4_000, strike: (world) => behave(world, 'slow') },
  { name: 'HTTP server cuts its answers', holdMs: 3_000, strike: (world) => behave(world, 'cut') },
  {
    name: 'replica killed with -9',
    holdMs: 2_000,
    async strike({ replicas, random }) {
      const replica = random.pick(replicas);
      await replica.kill();
      return () => replica.start();
    },
  },
  {
    name: 'PostgreSQL restarted',
    holdMs: 1_500,
    async strike({ postgres }) {
      await postgres.stop();
      return () => postgres.start();
    },
  },
  {
    name: 'Redis gone',
    holdMs: 3_000,
    async strike({ redis }) {
      await redis?.stop();
      return async () => redis?.start();
    },
  },
  {
    name: 'disk full',
    holdMs: 3_000,
    async strike({ smallDisk }) {
      if (smallDisk === undefined) return nothing;
      const filler = join(smallDisk, 'filler');
      fill(filler);
      return async () => rmSync(filler, { force: true });
    },
  },
  {
    name: 'clock jumps an hour ahead',
    holdMs: 3_000,
    async strike({ replicas, random }) {
      const replica = random.pick(replicas);
      await replica.turnClock(hourMs);
      return () => replica.turnClock(0);
    },
  },
  {
    name: 'clock jumps an hour back',
    holdMs: 3_000,
    async strike({ replicas, random }) {
      const replica = random.pick(replicas);
      await replica.turnClock(-hourMs);
      return () => replica.turnClock(0);
    },
  },
];

/** Whether a fault can be had here, and why not. */
export function missingFor(fault: Fault, world: World): string | undefined {
  if (fault.name === 'Redis gone' && world.redis === undefined) return 'redis-server is not installed';
  if (fault.name === 'disk full' && world.smallDisk === undefined) return 'no tmpfs can be mounted (not root)';
  return undefined;
}

function signalChild({ replicas, random }: World, signal: NodeJS.Signals): number {
  const servers = descendants(random.pick(replicas).pid).filter((pid) => commandOf(pid).includes('stdio-legacy'));
  const pid = random.pick(servers);
  process.kill(pid, signal);
  return pid;
}

async function behave({ httpServers, random }: World, manner: FaultyServer['manner']): Promise<() => Promise<void>> {
  const server = random.pick(httpServers);
  server.manner = manner;
  return async () => {
    server.manner = 'well';
  };
}

function fill(file: string): void {
  for (const size of [65_536, 4_096, 256]) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size), { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}
