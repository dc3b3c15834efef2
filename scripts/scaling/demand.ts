/** The calls, searches and sessions of many people, drawn from the assumptions: the same seed draws the same. */
import { createRandom, type Random } from '../chaos/random.ts';
import type { Assumptions, Population } from './assumptions.ts';
import type { Costs } from './costs.ts';

export interface Demand {
  seconds: number;
  /** In the order of their times. */
  requests: readonly Request[];
  clients: readonly Client[];
}

export interface Request {
  atSeconds: number;
  client: number;
  cpuMs: number;
  kind: 'call' | 'search' | 'open';
  usesOwnProcess: boolean;
}

export interface Client {
  person: number;
  hasSession: boolean;
}

interface Person {
  hasOwnProcess: boolean;
  isUnattended: boolean;
  clients: readonly number[];
}

export interface DemandOptions {
  population: Population;
  assumptions: Assumptions;
  costs: Costs;
  seconds: number;
  seed: number;
}

/** Before the time that counts, so that processes which are kept for a while are there. */
export const warmUpSeconds = 900;

export function drawDemand({ population, assumptions, costs, seconds, seed }: DemandOptions): Demand {
  const random = createRandom(seed);
  const draw = createDraws(random);
  const active = Math.round(population.people * assumptions.activeShare);
  const clients: Client[] = [];
  const requests: Request[] = [];

  for (let number = 0; number < active; number += 1) {
    const own = Array.from({ length: assumptions.clientsPerPerson }, () => {
      clients.push({ person: number, hasSession: random() < assumptions.legacyClientShare });
      return clients.length - 1;
    });
    const person: Person = {
      hasOwnProcess: random() < assumptions.ownProcessShare,
      isUnattended: random() < assumptions.unattendedShare,
      clients: own,
    };
    for (const client of own) {
      if (!clients[client]?.hasSession) continue;
      const atSeconds = -warmUpSeconds + random() * (seconds + warmUpSeconds);
      requests.push({ atSeconds, client, cpuMs: costs.sessionOpenCpuMs, kind: 'open', usesOwnProcess: false });
    }
    if (person.isUnattended) drawUnattended(person);
    else drawTasks(person);
  }
  return { seconds, clients, requests: requests.sort((a, b) => a.atSeconds - b.atSeconds) };

  function drawTasks(person: Person): void {
    const pause = 3_600 / assumptions.tasksPerHour;
    for (let start = -warmUpSeconds + draw.exponential(pause); start < seconds; start += draw.exponential(pause)) {
      const client = random.pick(person.clients);
      for (let search = 0; search < assumptions.searchesPerTask; search += 1) {
        requests.push({
          atSeconds: start,
          client,
          cpuMs: costs.searchCpuMs + callCost('http-modern'),
          kind: 'search',
          usesOwnProcess: false,
        });
      }
      let at = start;
      for (let calls = draw.geometric(assumptions.callsPerTask); calls > 0; calls -= 1) {
        at += draw.exponential(assumptions.secondsBetweenCalls);
        if (at < seconds) requests.push(drawCall(person, client, at));
      }
    }
  }

  function drawUnattended(person: Person): void {
    const pause = 1 / assumptions.unattendedCallsPerSecond;
    const client = random.pick(person.clients);
    for (let at = -warmUpSeconds + draw.exponential(pause); at < seconds; at += draw.exponential(pause)) {
      requests.push(drawCall(person, client, at));
    }
  }

  function drawCall(person: Person, client: number, atSeconds: number): Request {
    const isStdio = random() < assumptions.stdioCallShare;
    const http = random() < 0.5 ? 'http-modern' : 'http-legacy';
    return {
      atSeconds,
      client,
      cpuMs: callCost(isStdio ? 'stdio-legacy' : http),
      kind: 'call',
      usesOwnProcess: isStdio && person.hasOwnProcess,
    };
  }

  function callCost(kind: string): number {
    const cost = costs.callCpuMs[kind];
    if (cost === undefined) throw new Error(`the costs have no calls of "${kind}"`);
    return cost;
  }
}

function createDraws(random: Random) {
  return {
    exponential: (mean: number) => -Math.log(1 - random()) * mean,
    /** At least one. */
    geometric: (mean: number) => 1 + Math.floor(Math.log(1 - random()) / Math.log(1 - 1 / mean)),
  };
}
