/** The official suite's client scenarios against our upstream side, and their table. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { z } from 'zod';
import { performScenario, type Scenario } from './client-driver.ts';
import type { Requirements } from './suite.ts';

export interface ClientScenario {
  requirements: Requirements;
  scenario: string;
  /** The others are run and shown, but the revision does not demand them. */
  required: boolean;
  passed: number;
  failed: number;
  failures: string[];
}

const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'));
const command = fileURLToPath(new URL('./client-command.js', import.meta.url));
/** The suite starts all scenarios at once, each with an aggregator: they would time each other out. */
const atOnce = 4;
const scenarioTimeoutMs = 300_000;

/** One process of the suite runs every scenario; those that are not in `scenarios` end at once and are left out. */
export async function runClientSuite(
  requirements: Requirements,
  scenarios = scenariosOf(requirements),
): Promise<ClientScenario[]> {
  const output = await mkdtemp(join(tmpdir(), 'client-conformance-'));
  const driver = await startDriver(new Set(scenarios.map(({ scenario }) => scenario)));
  try {
    const printed = await runSuite(requirements, driver.url, output);
    const files = (await readdir(output, { recursive: true })).filter((name) => basename(name) === 'checks.json');
    const results = await Promise.all(
      scenarios.map(async ({ scenario, required }) => {
        const file = files.find((name) => scenarioOf(name) === scenario);
        if (file === undefined) throw new Error(`${scenario}: the suite wrote no checks:\n${printed}`);
        return { requirements, scenario, required, ...(await readChecks(join(output, file))) };
      }),
    );
    const rank = ({ required, scenario }: ClientScenario) => `${required ? 0 : 1} ${scenario}`;
    return results.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
  } finally {
    driver.close();
    await rm(output, { recursive: true });
  }
}

/** The suite starts a command for each scenario; what it asks for is done in this process, which has everything loaded. */
async function startDriver(wanted: ReadonlySet<string>): Promise<{ url: string; close(): void }> {
  const waiting: (() => void)[] = [];
  let running = 0;

  async function perform(scenario: Scenario): Promise<void> {
    if (!wanted.has(scenario.name)) return;
    if (running === atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      await performScenario(scenario);
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  }

  const server = createServer((request, response) => {
    void json(request)
      .then((scenario) => perform(scenario as Scenario))
      .then(
        () => response.end(),
        (error: unknown) => response.writeHead(500).end(inspect(error)),
      );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() };
}

/** What it printed. */
async function runSuite(requirements: Requirements, driver: string, output: string): Promise<string> {
  const client = `${process.execPath} ${command} ${driver}`;
  const args = ['client', '--command', client, '--requirements', requirements, '--timeout', String(scenarioTimeoutMs)];
  const child = spawn(process.execPath, [program, ...args, '-o', output], { stdio: ['ignore', 'pipe', 'pipe'] });
  return (await Promise.all([text(child.stdout), text(child.stderr)])).join('\n');
}

/** The suite's directories: `auth/dpop-2026-11-18T10-45-46-841Z/checks.json`. */
function scenarioOf(file: string): string {
  return dirname(file)
    .replaceAll('\\', '/')
    .replace(/-\d{4}-\d{2}-\d{2}T[\d-]+Z$/, '');
}

const checksFile = z.array(z.object({ id: z.string(), status: z.string(), errorMessage: z.string().optional() }));

async function readChecks(file: string) {
  const checks = checksFile.parse(JSON.parse(await readFile(file, 'utf8')));
  const failures = checks.filter(({ status }) => status === 'FAILURE');
  return {
    passed: checks.filter(({ status }) => status === 'SUCCESS').length,
    failed: failures.length,
    failures: failures.map(({ id, errorMessage }) => `${id}: ${errorMessage ?? 'failed'}`),
  };
}

/** From the suite's own file of requirements: plain lines, so no YAML is needed. */
export function scenariosOf(requirements: Requirements): { scenario: string; required: boolean }[] {
  const file = join(program, '..', '..', 'requirements', `${requirements}.yaml`);
  const sections = readFileSync(file, 'utf8').split(/^(?=\w+:)/m);
  const section = (name: string) => sections.find((one) => one.startsWith(`${name}:`)) ?? '';
  const required = [...section('client').matchAll(/^\s+- (\S+)/gm)].map(([, name = '']) => ({
    scenario: name,
    required: true,
  }));
  const others = [...section('not_scored').matchAll(/- (?:scenario|name|id): (\S+)((?:\n\s+\w+:.*)*)/g)]
    .filter(([, , details = '']) => /:\s*client\b/.test(details))
    .map(([, name = '']) => ({ scenario: name, required: false }));
  return [...required, ...others];
}

export function formatClientSuite(results: readonly ClientScenario[]): string {
  const width = Math.max(...results.map(({ scenario }) => scenario.length));
  const lines = results.flatMap(({ requirements, scenario, required, passed, failed, failures }) => [
    `${failed === 0 ? 'ok  ' : 'FAIL'} ${requirements}  ${scenario.padEnd(width)}  ${String(passed).padStart(3)}/${failed}${required ? '' : '  not required'}`,
    ...failures.map((failure) => `       ${failure}`),
  ]);
  return ['checks passed/failed', ...lines].join('\n');
}
