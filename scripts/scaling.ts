/**
 * How many replicas and which databases a number of people needs: `npm run scaling [-- --people 500 --callsPerTask 40]`.
 * Draws the busiest hour from the assumptions (scripts/scaling/assumptions.ts) and lets replicas carry it, with the costs
 * that `npm run bench capacity -- --write scripts/scaling/costs.json` measured. `--write` puts the tables into docs/scaling.md.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Assumptions, assumptions as defaults, type Population, populations } from './scaling/assumptions.ts';
import type { Costs } from './scaling/costs.ts';
import { replaceTables, tablesOf } from './scaling/page.ts';
import { sizeFor } from './scaling/sizing.ts';

const page = new URL('../docs/scaling.md', import.meta.url);
const costs: Costs = JSON.parse(readFileSync(new URL('scaling/costs.json', import.meta.url), 'utf8'));
const numbers = Object.keys(defaults) as (keyof Assumptions)[];
const { values } = parseArgs({
  options: {
    ...Object.fromEntries(numbers.map((name) => [name, { type: 'string' as const }])),
    people: { type: 'string' },
    podMemoryGb: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});
const assumptions = Object.fromEntries(
  numbers.map((name) => [name, numberOf(name) ?? defaults[name]]),
) as unknown as Assumptions;

const sizings = chosenPopulations().map((population) => ({
  shared: sizeFor({ population, assumptions: { ...assumptions, ownProcessShare: 0 }, costs }),
  personal: sizeFor({ population, assumptions, costs }),
}));
const tables = tablesOf(sizings, costs);
for (const [name, table] of Object.entries(tables)) console.log(`\n${name}\n${table}`);
if (values.write) writeFileSync(page, replaceTables(readFileSync(page, 'utf8'), tables));

function numberOf(name: string): number | undefined {
  const text = (values as Record<string, string | boolean | undefined>)[name];
  if (typeof text !== 'string') return undefined;
  const value = Number(text);
  if (text === '' || !Number.isFinite(value) || value < 0) throw new Error(`--${name} takes a number, not "${text}"`);
  return value;
}

/** A number in between takes the servers and the memory of the next larger one. */
function chosenPopulations(): Population[] {
  const people = numberOf('people');
  const memory = numberOf('podMemoryGb');
  const chosen =
    people === undefined
      ? populations
      : [{ ...(populations.find((known) => known.people >= people) ?? (populations.at(-1) as Population)), people }];
  return chosen.map((population) => ({ ...population, podMemoryGb: memory ?? population.podMemoryGb }));
}
