import { type AllowedDifference, allowedDifferences } from './allowed.ts';
import { startFixtureServer } from './fixture-server.ts';
import { type Requirements, runConformance, type SuiteResult, totals } from './suite.ts';

/** Puts a gateway in front of a server and says where clients reach it. */
export type Gateway = (fixtureUrl: string) => Promise<{ url: string; close(): Promise<void> }>;

type Era = 'legacy' | 'modern';

export interface Cell {
  requirements: Requirements;
  upstream: Era;
  direct: SuiteResult;
  through: SuiteResult;
  differences: Difference[];
}

export interface Difference {
  scenario: string;
  direct: { passed: number; failed: number };
  through: { passed: number; failed: number; failures: string[] };
  /** Why it is allowed; undefined when it is not. */
  reason: string | undefined;
}

const suites: { requirements: Requirements; era: Era }[] = [
  { requirements: '2025-11-25', era: 'legacy' },
  { requirements: '2026-07-28', era: 'modern' },
];

/** Both client suites against both kinds of server through the gateway, compared with the direct run of the same suite. */
export async function runMatrix(gateway: Gateway): Promise<Cell[]> {
  const cells = await Promise.all(suites.map(({ requirements, era }) => runRow(gateway, requirements, era)));
  return cells.flat();
}

async function runRow(gateway: Gateway, requirements: Requirements, era: Era): Promise<Cell[]> {
  const direct = await runDirect(requirements, era);
  const cells: Cell[] = [];
  for (const upstream of ['legacy', 'modern'] as const) {
    const through = await runThrough(gateway, requirements, upstream);
    const allowed = allowedDifferences.filter((one) => one.requirements === requirements && one.upstream === upstream);
    cells.push({ requirements, upstream, direct, through, differences: compare(direct, through, allowed) });
  }
  return cells;
}

export async function runDirect(requirements: Requirements, era: Era): Promise<SuiteResult> {
  const fixture = await startFixtureServer({ era });
  try {
    return await runConformance({ requirements, url: fixture.url });
  } finally {
    await fixture.close();
  }
}

async function runThrough(gateway: Gateway, requirements: Requirements, upstream: Era): Promise<SuiteResult> {
  const fixture = await startFixtureServer({ era: upstream });
  try {
    const front = await gateway(fixture.url);
    try {
      return await runConformance({ requirements, url: front.url });
    } finally {
      await front.close();
    }
  } finally {
    await fixture.close();
  }
}

/** A tick says little, since some scenarios pass without checking anything: the counts have to hold. */
export function compare(direct: SuiteResult, through: SuiteResult, allowed: AllowedDifference[]): Difference[] {
  return Object.entries(direct).flatMap(([scenario, expected]) => {
    const actual = through[scenario] ?? { passed: 0, failed: 0, failures: ['the scenario did not run'] };
    if (actual.passed >= expected.passed && actual.failed <= expected.failed) return [];
    const reason = allowed.find((one) => one.scenario.test(scenario))?.reason;
    return [{ scenario, direct: expected, through: actual, reason }];
  });
}

/** Checks passed and failed per scenario, a table for each client suite, and what is worse through the gateway. */
export function formatMatrix(cells: Cell[]): string {
  const tables = suites.flatMap(({ requirements }) => {
    const own = cells.filter((cell) => cell.requirements === requirements);
    const columns = [...own.slice(0, 1).map(({ direct }) => direct), ...own.map(({ through }) => through)];
    const head = [`${requirements} client`, 'direct', ...own.map(({ upstream }) => `through, ${upstream} server`)];
    const scenarios = Object.keys(columns[0] ?? {}).toSorted();
    const rows = scenarios.map((scenario) => [scenario, ...columns.map((results) => score(results[scenario]))]);
    return [head, ...rows, ['all', ...columns.map((results) => score(totals(results)))]].map(aligned).concat('');
  });
  const lines = cells.flatMap((cell) => cell.differences.flatMap((difference) => describe(cell, difference)));
  return ['checks passed/failed', ...tables, ...lines].join('\n');
}

const score = (result: { passed: number; failed: number } | undefined) =>
  result === undefined ? '–' : `${result.passed}/${result.failed}`;

function aligned([scenario = '', ...scores]: string[]): string {
  return (scenario.padEnd(48) + scores.map((cell) => cell.padEnd(24)).join('')).trimEnd();
}

function describe(cell: Cell, { scenario, direct, through, reason }: Difference): string[] {
  const where = `${cell.requirements} client, ${cell.upstream} server, ${scenario}`;
  const counts = `${score(direct)} → ${score(through)}`;
  if (reason !== undefined) return [`allowed  ${where}: ${counts}, because ${reason}`];
  return [`WORSE    ${where}: ${counts}`, ...through.failures.map((failure) => `           ${failure}`)];
}
