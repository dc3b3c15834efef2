/** What docs/scaling.md promises, drawn again from the measured costs. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { assumptions, limits, type Population, populations } from '../../scripts/scaling/assumptions.ts';
import type { Costs } from '../../scripts/scaling/costs.ts';
import { replaceTables, tablesOf } from '../../scripts/scaling/page.ts';
import { sizeFor } from '../../scripts/scaling/sizing.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const costs: Costs = JSON.parse(read('scripts/scaling/costs.json'));
const [small, middle] = populations as [Population, Population, Population];

test('the tables of the page are those of the simulation', () => {
  const page = read('docs/scaling.md');
  // 20,000 people take ten seconds; `npm run scaling -- --write` draws them all.
  const sizings = [small, middle].map((population) => ({
    shared: sizeFor({ population, assumptions: { ...assumptions, ownProcessShare: 0 }, costs }),
    personal: sizeFor({ population, assumptions, costs }),
  }));
  const tables = tablesOf(sizings, costs);
  for (const table of Object.values(tables)) {
    for (const line of table.trimEnd().split('\n')) assert.ok(page.includes(`${line}\n`), line);
  }
  assert.equal(replaceTables(page, { costs: tables.costs ?? '' }), page);
  assert.throws(() => replaceTables(page, { others: '' }), /no place for the table "others"/);
});

test('what is dearer becomes the bottleneck, and more of it takes more replicas', () => {
  const plain = { population: middle, assumptions: { ...assumptions, ownProcessShare: 0 }, costs };
  const before = sizeFor(plain);
  const dear = { ...costs, callCpuMs: Object.fromEntries(Object.keys(costs.callCpuMs).map((name) => [name, 20])) };
  const withDearCalls = sizeFor({ ...plain, costs: dear });
  assert.match(withDearCalls.bottleneck.resource, /event loop/);
  assert.ok(withDearCalls.replicas > before.replicas, `${withDearCalls.replicas} after ${before.replicas}`);
  const large = { ...costs, memoryMb: { ...costs.memoryMb, stdioProcess: 100 } };
  assert.equal(sizeFor({ ...plain, costs: large, assumptions }).bottleneck.resource, 'memory of server processes');
  const many = sizeFor({ ...plain, costs: { ...costs, memoryMb: { ...costs.memoryMb, perSession: 1 } } });
  assert.equal(many.bottleneck.resource, 'memory of the aggregator');
  assert.ok(many.load.cpuShare <= limits.cpuShare);
  const cheap = { ...costs, memoryMb: { ...costs.memoryMb, underLoad: 5_000 } };
  assert.throws(() => sizeFor({ ...plain, costs: cheap }), /need more than 512 replicas/);
});
