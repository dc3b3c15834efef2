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
  const cells: Cell[] = [];
  for (const { requirements, era } of suites) {
    const direct = await runDirect(requirements, era);
    for (const upstream of ['legacy', 'modern'] as const) {
      const through = await runThrough(gateway, requirements, upstream);
      const allowed = allowedDifferences.filter(
        (one) => one.requirements === requirements && one.upstream === upstream,
      );
      cells.push({ requirements, upstream, direct, through, differences: compare(direct, through, allowed) });
    }
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

export function formatMatrix(cells: Cell[]): string {
  const score = (result: SuiteResult) => `${totals(result).passed}/${totals(result).failed}`;
  const rows = suites.map(({ requirements }) => {
    const own = cells.filter((cell) => cell.requirements === requirements);
    const through = (era: Era) => own.filter((cell) => cell.upstream === era).map((cell) => score(cell.through));
    const direct = own.slice(0, 1).map((cell) => score(cell.direct));
    return aligned([requirements, String(direct), String(through('legacy')), String(through('modern'))]);
  });
  const head = aligned(['client suite', 'direct', 'through, legacy server', 'through, modern server']);
  const lines = cells.flatMap((cell) => cell.differences.flatMap((difference) => describe(cell, difference)));
  return ['checks passed/failed', head, ...rows, ...lines].join('\n');
}

function aligned(cells: string[]): string {
  return cells
    .map((cell) => cell.padEnd(24))
    .join('')
    .trimEnd();
}

function describe(cell: Cell, { scenario, direct, through, reason }: Difference): string[] {
  const where = `${cell.requirements} client, ${cell.upstream} server, ${scenario}`;
  const counts = `${direct.passed}/${direct.failed} → ${through.passed}/${through.failed}`;
  if (reason !== undefined) return [`allowed  ${where}: ${counts}, because ${reason}`];
  return [`WORSE    ${where}: ${counts}`, ...through.failures.map((failure) => `           ${failure}`)];
}
