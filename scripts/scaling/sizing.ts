/** How many replicas a number of people needs, what is the first to run out, and what the databases get to do. */
import { type Assumptions, limits, type Population } from './assumptions.ts';
import type { Costs } from './costs.ts';
import { type Demand, drawDemand } from './demand.ts';
import { type ReplicaLoad, simulate } from './simulation.ts';

export interface Sizing {
  population: Population;
  /** One of them may be away. */
  replicas: number;
  load: ReplicaLoad;
  /** With one replica away: the resource that is used most, and how much of its limit. */
  bottleneck: { resource: string; share: number };
  callsPerSecond: number;
  sessions: number;
  database: { connections: number; transactionsPerSecond: number; walKbPerSecond: number; gbPerYear: number };
  redisCommandsPerSecond: number;
  checksPerSecond: number;
}

interface SizingOptions {
  population: Population;
  assumptions: Assumptions;
  costs: Costs;
  seed?: number;
}

const simulatedSeconds = 1_800;
const most = 512;
/** The pool of a replica and the connection that listens for changes. */
const connectionsPerReplica = 11;

export function sizeFor({ seed = 1, ...options }: SizingOptions): Sizing {
  const demand = drawDemand({ ...options, seconds: simulatedSeconds, seed });
  const bottleneckWith = (replicas: number) =>
    usesOf(simulate({ ...options, demand, replicas }), options.population, options.assumptions).reduce((a, b) =>
      b.share > a.share ? b : a,
    );
  const remaining = findLeast((replicas) => bottleneckWith(replicas).share <= 1);
  if (remaining === undefined) throw new Error(`${options.population.people} people need more than ${most} replicas`);
  const replicas = remaining + 1;
  return {
    population: options.population,
    replicas,
    load: simulate({ ...options, demand, replicas }),
    bottleneck: bottleneckWith(remaining),
    ...storesFor(options, demand, replicas),
  };
}

/** More replicas never make it worse. */
function findLeast(isEnough: (replicas: number) => boolean): number | undefined {
  let enough = 1;
  while (!isEnough(enough)) {
    if (enough >= most) return undefined;
    enough *= 2;
  }
  let tooFew = enough / 2;
  while (enough - tooFew > 1) {
    const middle = Math.floor((enough + tooFew) / 2);
    if (isEnough(middle)) enough = middle;
    else tooFew = middle;
  }
  return enough;
}

/** Of each limit, which share is used. */
export function usesOf(load: ReplicaLoad, { podMemoryGb }: Population, { checkInterval }: Assumptions) {
  const podMemoryMb = podMemoryGb * 1_024 * limits.memoryShare;
  return [
    { resource: 'CPU of the event loop', share: load.cpuShare / limits.cpuShare },
    { resource: 'waits for the event loop', share: load.waitP99Ms / limits.waitP99Ms },
    { resource: 'sessions', share: load.sessions / limits.sessions },
    { resource: 'memory of the aggregator', share: load.ownMemoryMb / limits.ownMemoryMb },
    { resource: 'memory of server processes', share: (load.ownMemoryMb + load.processMemoryMb) / podMemoryMb },
    { resource: 'checks of accounts', share: load.checkSeconds / checkInterval },
  ];
}

function storesFor({ assumptions, costs, population }: SizingOptions, demand: Demand, replicas: number) {
  const calls = demand.requests.filter(({ kind, atSeconds }) => kind !== 'open' && atSeconds >= 0).length;
  const callsPerSecond = calls / demand.seconds;
  const callsPerDay = callsPerSecond * 3_600 * assumptions.busyHoursPerDay;
  const checksPerSecond = (population.people * assumptions.activeShare) / assumptions.checkInterval;
  const { database, redis } = costs;
  return {
    callsPerSecond,
    sessions: demand.clients.filter(({ hasSession }) => hasSession).length,
    checksPerSecond,
    database: {
      connections: replicas * connectionsPerReplica,
      // A check takes the lease of the account and stores its result.
      transactionsPerSecond: replicas * database.transactionsPerSecond + 2 * checksPerSecond,
      walKbPerSecond: (callsPerSecond * database.walBytesPerCall) / 1_024,
      gbPerYear: (callsPerDay * assumptions.retentionDays * database.bytesPerCall) / 1_024 ** 3,
    },
    redisCommandsPerSecond: replicas * redis.idleCommandsPerSecond + callsPerSecond * redis.commandsPerCall,
  };
}
