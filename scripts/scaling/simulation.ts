/** Replicas that carry a demand: each is one event loop that does one thing at a time, in the order it arrived. */
import { percentile } from '../../bench/table.ts';
import type { Assumptions, Population } from './assumptions.ts';
import { limits } from './assumptions.ts';
import type { Costs } from './costs.ts';
import { type Client, type Demand, type Request, warmUpSeconds } from './demand.ts';

export interface ReplicaLoad {
  /** Of one core. */
  cpuShare: number;
  /** Until the event loop begins with a request. */
  waitP99Ms: number;
  sessions: number;
  /** Of the process itself, without those of servers. */
  ownMemoryMb: number;
  ownProcesses: number;
  processMemoryMb: number;
  checkSeconds: number;
}

interface SimulationOptions {
  demand: Demand;
  population: Population;
  assumptions: Assumptions;
  costs: Costs;
  replicas: number;
}

/** The load of the replica that has the most of each. */
export function simulate(options: SimulationOptions): ReplicaLoad {
  const { demand, replicas } = options;
  const shares = Array.from({ length: replicas }, (): Share => ({ clients: [], requests: [] }));
  for (const client of demand.clients.keys()) shares[placeOf(client, replicas)]?.clients.push(client);
  for (const request of demand.requests) shares[placeOf(request.client, replicas)]?.requests.push(request);
  const loads = shares.map((share) => simulateReplica(options, share));
  const most = (key: keyof ReplicaLoad) => Math.max(...loads.map((load) => load[key]));
  return {
    cpuShare: most('cpuShare'),
    waitP99Ms: most('waitP99Ms'),
    sessions: most('sessions'),
    ownMemoryMb: most('ownMemoryMb'),
    ownProcesses: most('ownProcesses'),
    processMemoryMb: most('processMemoryMb'),
    checkSeconds: most('checkSeconds'),
  };
}

/** What the load balancer sends to one replica. */
interface Share {
  clients: number[];
  requests: Request[];
}

function simulateReplica(options: SimulationOptions, { clients, requests }: Share): ReplicaLoad {
  const { demand, population, assumptions, costs } = options;
  const sessions = clients.filter((client) => demand.clients[client]?.hasSession).length;
  const servers = population.serversOverHttp + population.sharedStdioServers;
  const idleShare =
    (costs.idleCpuMsPerSecond.base +
      costs.idleCpuMsPerSecond.perServer * servers +
      costs.idleCpuMsPerSecond.perSession * sessions) /
    1_000;
  const { busyShare, waitP99Ms } = queue(requests, demand.seconds, idleShare);
  const ownProcesses = mostProcesses(requests, demand.clients, assumptions.idleTimeout);
  const people = new Set(clients.map((client) => demand.clients[client]?.person)).size;
  return {
    cpuShare: busyShare + idleShare,
    waitP99Ms,
    sessions,
    ownMemoryMb: ownMemoryMb(costs, population, assumptions, sessions, ownProcesses),
    ownProcesses,
    processMemoryMb: (ownProcesses + population.sharedStdioServers) * costs.memoryMb.stdioProcess,
    checkSeconds: (people / limits.concurrentChecks) * limits.secondsPerCheck,
  };
}

function ownMemoryMb(
  { memoryMb }: Costs,
  { serversOverHttp, sharedStdioServers }: Population,
  { toolsPerServer }: Assumptions,
  sessions: number,
  ownProcesses: number,
): number {
  return (
    memoryMb.underLoad +
    serversOverHttp * memoryMb.perHttpServer +
    (sharedStdioServers + ownProcesses) * memoryMb.perStdioServer +
    (serversOverHttp + sharedStdioServers) * toolsPerServer * memoryMb.perTool +
    sessions * memoryMb.perSession
  );
}

/** A load balancer that hashes the token keeps a client at one replica. */
function placeOf(client: number, replicas: number): number {
  let hash = Math.imul(client + 1, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) >>> 0) % replicas;
}

/** What the process does when idle makes everything slower. */
function queue(requests: readonly Request[], seconds: number, idleShare: number) {
  const waitsMs: number[] = [];
  let freeAt = -warmUpSeconds * 1_000;
  let busyMs = 0;
  for (const { atSeconds, cpuMs } of requests) {
    const arrivedAt = atSeconds * 1_000;
    const startsAt = Math.max(arrivedAt, freeAt);
    freeAt = startsAt + cpuMs / (1 - idleShare);
    if (atSeconds < 0) continue;
    busyMs += cpuMs;
    waitsMs.push(startsAt - arrivedAt);
  }
  return { busyShare: busyMs / (seconds * 1_000), waitP99Ms: waitsMs.length === 0 ? 0 : percentile(waitsMs, 99) };
}

/** A process lives from its first call until it was idle for so long. */
function mostProcesses(requests: readonly Request[], clients: readonly Client[], idleSeconds: number) {
  const endsAt = new Map<number, number>();
  const changes: { at: number; by: number }[] = [];
  for (const { atSeconds, client, usesOwnProcess } of requests) {
    if (!usesOwnProcess) continue;
    const person = clients[client]?.person ?? 0;
    const end = endsAt.get(person);
    if (end === undefined || end < atSeconds) {
      if (end !== undefined) changes.push({ at: end, by: -1 });
      changes.push({ at: atSeconds, by: 1 });
    }
    endsAt.set(person, atSeconds + idleSeconds);
  }
  for (const at of endsAt.values()) changes.push({ at, by: -1 });
  let running = 0;
  let most = 0;
  for (const { by } of changes.sort((a, b) => a.at - b.at || a.by - b.by)) {
    running += by;
    most = Math.max(most, running);
  }
  return most;
}
