import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

export type Requirements = '2025-11-25' | '2026-07-28';
export interface ScenarioResult {
  passed: number;
  failed: number;
  /** One line per failed check, for the reader of a red run. */
  failures: string[];
}
export type SuiteResult = Record<string, ScenarioResult>;

/** Runs the official suite's server scenarios against an MCP server. */
export function runConformance(options: { requirements: Requirements; url: string }): Promise<SuiteResult> {
  return runSuite(['server', '--url', options.url, '--requirements', options.requirements]);
}

/** One scenario that no revision requires, such as those of extensions. */
export async function runScenario(options: { scenario: string; url: string }): Promise<ScenarioResult> {
  const output = await mkdtemp(join(tmpdir(), 'conformance-'));
  const args = [program, 'server', '--url', options.url, '--scenario', options.scenario, '-o', output];
  const child = spawn(process.execPath, args, { stdio: 'ignore' });
  await once(child, 'close');
  const result: ScenarioResult = { passed: 0, failed: 0, failures: [] };
  for (const { checks } of await readChecks(output)) {
    result.passed += checks.filter(({ status }) => status === 'SUCCESS').length;
    result.failures.push(...failuresOf(checks));
  }
  await rm(output, { recursive: true });
  return { ...result, failed: result.failures.length };
}

/** Runs its client scenarios; the command gets the address of a test server as its last argument. */
export function runClientConformance(options: { requirements: Requirements; command: string }): Promise<SuiteResult> {
  return runSuite(['client', '--command', options.command, '--requirements', options.requirements]);
}

const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'));

async function runSuite(args: string[]): Promise<SuiteResult> {
  const output = await mkdtemp(join(tmpdir(), 'conformance-'));
  const child = spawn(process.execPath, [program, ...args, '-o', output], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const result = parseSummary(stdout);
  if (Object.keys(result).length === 0) throw new Error(`The suite printed no summary:\n${stdout}\n${stderr}`);
  await addFailures(result, output);
  await rm(output, { recursive: true });
  return result;
}

/** Lines such as `✓ tools-list: 3 passed, 0 failed`. */
export function parseSummary(stdout: string): SuiteResult {
  const lines = stdout.slice(stdout.indexOf('SUMMARY')).matchAll(/^[✓✗] ([\w/-]+): (\d+) passed, (\d+) failed/gm);
  return Object.fromEntries(
    Array.from(lines, ([, scenario, passed, failed]) => [
      scenario,
      { passed: Number(passed), failed: Number(failed), failures: [] },
    ]),
  );
}

const checksFile = z.array(z.object({ id: z.string(), status: z.string(), errorMessage: z.string().optional() }));
type Check = z.infer<typeof checksFile>[number];

async function addFailures(result: SuiteResult, output: string): Promise<void> {
  for (const { file, checks } of await readChecks(output)) {
    const scenario = Object.keys(result).find((name) => new RegExp(`^((server|client)-)?${name}-\\d{4}-`).test(file));
    if (scenario !== undefined) result[scenario]?.failures.push(...failuresOf(checks));
  }
}

async function readChecks(output: string): Promise<{ file: string; checks: Check[] }[]> {
  const files = (await readdir(output, { recursive: true })).filter((file) => file.endsWith('checks.json'));
  return await Promise.all(
    files.map(async (file) => ({
      file,
      checks: checksFile.parse(JSON.parse(await readFile(join(output, file), 'utf8'))),
    })),
  );
}

function failuresOf(checks: readonly Check[]): string[] {
  const failed = checks.filter(({ status }) => status === 'FAILURE');
  return failed.map(({ id, errorMessage }) => `${id}: ${errorMessage ?? 'failed'}`);
}

export function totals(result: SuiteResult): { passed: number; failed: number } {
  const scenarios = Object.values(result);
  const sum = (key: 'passed' | 'failed') => scenarios.reduce((total, scenario) => total + scenario[key], 0);
  return { passed: sum('passed'), failed: sum('failed') };
}
