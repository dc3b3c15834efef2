/**
 * Questions over some twenty servers at once: how many are answered, with how many bytes and calls, and that nothing is
 * changed. `npm run bench questions -- [--only <id or kind>] [--failed] [--json]`
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startApp, type TestApp } from '../test/support/app.ts';
import { holdsFacts, type Question, questions } from './questions/questions.ts';
import { createWorld, type World } from './questions/world.ts';
import { mean, percentile, printTable } from './table.ts';

interface Answer {
  results: { title?: string; content: string; server?: string; tool?: string }[];
  metadata: { bytesRaw?: number; tokensRaw?: number; servers?: { calls: unknown[] }[] };
}

interface Outcome {
  question: Question;
  answeredAt1: boolean;
  answeredAt3: boolean;
  bytes: number;
  bytesRaw: number;
  calls: number;
  ms: number;
  firstResults: string[];
}

const { values: options } = parseArgs({
  options: { only: { type: 'string' }, failed: { type: 'boolean' }, json: { type: 'boolean' } },
});
// mcp-obsidian turns the path of its vault into lower case, so the name must have no capitals.
const directory = join(realpathSync(tmpdir()), `bench-questions-${randomUUID()}`);
mkdirSync(directory);
const world = await createWorld(directory);
const app = await startApp();
try {
  await Promise.all(world.servers.map(({ name, connection }) => app.add(name, connection)));
  const outcomes: Outcome[] = [];
  for (const question of chooseQuestions(world)) outcomes.push(await ask(app, question, world.site));
  const writes = world.findWrites();
  if (options.json) console.log(JSON.stringify({ skipped: world.skipped, outcomes, writes }, null, 2));
  else printOutcomes(world, outcomes, writes);
  if (writes.length > 0) process.exitCode = 1;
} finally {
  await app.close();
  await world.close();
  rmSync(directory, { recursive: true });
}

function chooseQuestions({ servers }: World): Question[] {
  const names = new Set(servers.map(({ name }) => name));
  const chosen = questions
    .filter((question) => question.kind === 'nobody knows' || question.needs.every((name) => names.has(name)))
    .filter(({ id, kind }) => options.only === undefined || options.only === id || options.only === kind);
  if (chosen.length === 0) throw new Error(`No question matches "${options.only}".`);
  return chosen;
}

async function ask(app: TestApp, question: Question, site: string): Promise<Outcome> {
  const started = performance.now();
  const { status, body } = await app.api('POST', '/api/v1/query', { query: question.question.replace('{site}', site) });
  const ms = performance.now() - started;
  const isOk = status === 200;
  const { results, metadata }: Answer = isOk ? body : { results: [], metadata: {} };
  return {
    question,
    answeredAt1: isOk && isAnswered(question, results.slice(0, 1)),
    answeredAt3: isOk && isAnswered(question, results.slice(0, 3)),
    bytes: Buffer.byteLength(JSON.stringify(body)),
    bytesRaw: metadata.bytesRaw ?? (metadata.tokensRaw ?? 0) * 4,
    calls: (metadata.servers ?? []).reduce((sum, { calls }) => sum + calls.length, 0),
    ms,
    firstResults: isOk ? results.slice(0, 3).map(shorten) : [`status ${status}: ${JSON.stringify(body)}`],
  };
}

function isAnswered(question: Question, results: Answer['results']): boolean {
  return question.kind === 'nobody knows' ? results.length === 0 : holdsFacts(results, question.expect);
}

function shorten({ title, content, server, tool }: Answer['results'][number]): string {
  const text = [title, content].filter(Boolean).join(': ').replace(/\s+/g, ' ');
  return `${server}.${tool}: ${text.length > 160 ? `${text.slice(0, 160)}…` : text}`;
}

function printOutcomes(world: World, outcomes: Outcome[], writes: string[]): void {
  for (const line of world.skipped) console.log(`Skipped: ${line}`);
  const byKind = Map.groupBy(outcomes, ({ question }) => question.kind);
  printTable(
    `${outcomes.length} questions to ${world.servers.length} servers; all facts in the first result, in the first three`,
    ['kind', 'questions', '@1', '@3', 'bytes, answer', 'bytes, servers', 'calls', 'p50 ms', 'p95 ms'],
    [...[...byKind].map(([kind, list]) => summarise(kind, list)), summarise('all', outcomes)],
  );
  console.log(`\nCalls of writing tools and changed files: ${writes.length}`);
  for (const line of writes) console.log(`  ${line}`);
  if (options.failed) for (const outcome of outcomes.filter(({ answeredAt3 }) => !answeredAt3)) printFailed(outcome);
}

function summarise(name: string, outcomes: Outcome[]): (string | number)[] {
  const times = outcomes.map(({ ms }) => Math.round(ms));
  return [
    name,
    outcomes.length,
    outcomes.filter(({ answeredAt1 }) => answeredAt1).length,
    outcomes.filter(({ answeredAt3 }) => answeredAt3).length,
    Math.round(mean(outcomes.map(({ bytes }) => bytes))),
    Math.round(mean(outcomes.map(({ bytesRaw }) => bytesRaw))),
    outcomes.reduce((sum, { calls }) => sum + calls, 0),
    percentile(times, 50),
    percentile(times, 95),
  ];
}

function printFailed({ question, firstResults }: Outcome): void {
  const expected =
    question.kind === 'nobody knows'
      ? 'no results'
      : question.expect.map((fact) => [fact].flat().join(' or ')).join(' and ');
  console.log(`\n${question.id} (${question.kind}): ${question.question}\n  expected: ${expected}`);
  for (const line of firstResults) console.log(`  - ${line}`);
}
