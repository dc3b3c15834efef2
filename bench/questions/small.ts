/** A part of the benchmark for tests: no network, no Python, no server that hangs, every kind but time and web page. */
import { type Question, questions } from './questions.ts';
import { createLocalWorld, type World } from './world.ts';

export function smallWorld(directory: string): World {
  const world = createLocalWorld(directory);
  return { ...world, servers: world.servers.filter(({ name }) => name !== 'archive') };
}

const ids = [
  ...['busan', 'bucket-tips', 'parking', 'price', 'hazelnuts', 'revoked', 'order', 'on-call', 'cases'],
  ...['vat-tyrholm', 'plover-release', 'parents', 'warranty', 'berger', 'unpaid', 'kilnsea', 'sabbatical', 'billing'],
  ...['march-3', 'rolled-back', 'shelf', 'owner', 'tungsten', 'affric-code', 'order-99999'],
];

export const smallQuestions: Question[] = questions.filter(({ id }) => ids.includes(id));
