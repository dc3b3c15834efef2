import { type AllowedDifference, allowedDifferences } from './allowed.ts';
import { type Endpoint, type Era, type Subject, subjects } from './subjects.ts';
import { type Requirements, runConformance, type SuiteResult, totals } from './suite.ts';

/** Puts a gateway in front of a server and says where clients reach it. */
export type Gateway = (serverUrl: string, endpoint: Endpoint) => Promise<{ url: string; close(): Promise<void> }>;

export interface Cell {
  requirements: Requirements;
  subject: string;
  upstream: string;
  endpoint: Endpoint;
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

const eraOf: Record<Requirements, Era> = { '2025-11-25': 'legacy', '2026-07-28': 'modern' };
const suites = Object.keys(eraOf) as Requirements[];

/** The client suites against every kind of server through the gateway, compared with the direct run of the same suite. */
export async function runMatrix(gateway: Gateway): Promise<Cell[]> {
  // The suite waits more than it works.
  const rows = suites.flatMap((requirements) =>
    subjects
      .filter((subject) => subject.requirements.includes(requirements))
      .map((subject) => runSubject(gateway, requirements, subject)),
  );
  return (await Promise.all(rows)).flat();
}

async function runSubject(gateway: Gateway, requirements: Requirements, subject: Subject): Promise<Cell[]> {
  const server = await subject.startDirect(eraOf[requirements]);
  const direct = await runConformance({ requirements, url: server.url }).finally(server.close);
  const cells: Cell[] = [];
  for (const [upstream, start] of Object.entries(subject.behind)) {
    for (const endpoint of subject.endpoints) {
      const behind = await start();
      try {
        const front = await gateway(behind.url, endpoint);
        const through = await runConformance({ requirements, url: front.url }).finally(front.close);
        const allowed = allowedDifferences.filter((one) => applies(one, { requirements, upstream, endpoint }));
        const differences = compare(direct, through, allowed);
        cells.push({ requirements, subject: subject.name, upstream, endpoint, direct, through, differences });
      } finally {
        await behind.close();
      }
    }
  }
  return cells;
}

function applies(
  allowed: AllowedDifference,
  cell: { requirements: Requirements; upstream: string; endpoint: Endpoint },
): boolean {
  const { requirements = cell.requirements, upstream = cell.upstream, endpoint = cell.endpoint } = allowed;
  return requirements === cell.requirements && upstream === cell.upstream && endpoint === cell.endpoint;
}

/** Those that no cell needs any more. */
export function unusedDifferences(cells: readonly Cell[]): AllowedDifference[] {
  return allowedDifferences.filter(
    (allowed) =>
      !cells.some(
        (cell) => applies(allowed, cell) && cell.differences.some(({ scenario }) => allowed.scenario.test(scenario)),
      ),
  );
}

/** A tick says little, since some scenarios pass without checking anything: the counts have to hold. */
export function compare(
  direct: SuiteResult,
  through: SuiteResult,
  allowed: readonly AllowedDifference[],
): Difference[] {
  return Object.entries(direct).flatMap(([scenario, expected]) => {
    const actual = through[scenario] ?? { passed: 0, failed: 0, failures: ['the scenario did not run'] };
    if (actual.passed >= expected.passed && actual.failed <= expected.failed) return [];
    const reason = allowed.find((one) => one.scenario.test(scenario))?.reason;
    return [{ scenario, direct: expected, through: actual, reason }];
  });
}

/** Checks passed and failed per scenario, a table for each client suite and server, and what is worse through the gateway. */
export function formatMatrix(cells: Cell[]): string {
  const tables = suites.flatMap((requirements) =>
    subjects.flatMap(({ name }) => {
      const own = cells.filter((cell) => cell.requirements === requirements && cell.subject === name);
      return own[0] === undefined ? [] : formatTable(own[0], own);
    }),
  );
  const lines = cells.flatMap((cell) => cell.differences.flatMap((difference) => describe(cell, difference)));
  return ['checks passed/failed', ...tables, ...lines].join('\n');
}

function formatTable({ requirements, subject, direct }: Cell, cells: Cell[]): string[] {
  const columns = [direct, ...cells.map(({ through }) => through)];
  const head = [
    `${requirements} client, ${subject}`,
    'direct',
    ...cells.map(({ upstream, endpoint }) => `${upstream}, ${paths[endpoint]}`),
  ];
  const rows = Object.keys(direct)
    .toSorted()
    .map((scenario) => [scenario, ...columns.map((results) => score(results[scenario]))]);
  return [head, ...rows, ['all', ...columns.map((results) => score(totals(results)))]].map(aligned).concat('');
}

const paths: Record<Endpoint, string> = { one: '/mcp/servers/…', all: '/mcp' };

const score = (result: { passed: number; failed: number } | undefined) =>
  result === undefined ? '–' : `${result.passed}/${result.failed}`;

function aligned([scenario = '', ...scores]: string[]): string {
  return (scenario.padEnd(48) + scores.map((cell) => cell.padEnd(28)).join('')).trimEnd();
}

function describe(cell: Cell, { scenario, direct, through, reason }: Difference): string[] {
  const where = `${cell.requirements} client, ${cell.upstream} server, ${paths[cell.endpoint]}, ${scenario}`;
  const counts = `${score(direct)} → ${score(through)}`;
  if (reason !== undefined) return [`allowed  ${where}: ${counts}, because ${reason}`];
  return [`WORSE    ${where}: ${counts}`, ...through.failures.map((failure) => `           ${failure}`)];
}
