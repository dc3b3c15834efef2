/** `npm test -- <file or pattern>` runs what it names and nothing else. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { planRuns, stages } from '../../scripts/test.ts';

const script = fileURLToPath(new URL('../../scripts/test.ts', import.meta.url));
const files = ['test/chaos/fuzz.test.ts', 'test/cli/readme.test.ts', 'test/ids.test.ts', 'test/mcp/fuzz.test.ts'];
const filesOf = (words: string[]) =>
  planRuns(words, files)
    .runs.flat()
    .filter((word) => word.endsWith('.test.ts'));

test('a word selects files by path, by a part of the path, or by glob', () => {
  for (const [words, expected] of [
    [['test/ids.test.ts'], ['test/ids.test.ts']],
    [['./test/ids.test.ts'], ['test/ids.test.ts']],
    [['test\\ids.test.ts'], ['test/ids.test.ts']],
    [[fileURLToPath(new URL('../ids.test.ts', import.meta.url))], ['test/ids.test.ts']],
    [['cli/'], ['test/cli/readme.test.ts']],
    [['test/*.test.ts'], ['test/ids.test.ts']],
    [['fuzz'], ['test/mcp/fuzz.test.ts', 'test/chaos/fuzz.test.ts']],
    [
      ['ids', 'readme'],
      ['test/cli/readme.test.ts', 'test/ids.test.ts'],
    ],
  ] as const) {
    assert.deepEqual(filesOf([...words]), expected, words.join(' '));
  }
});

test('chaos tests run apart, with flags of their own; options go to every run; --postgres gives it a database', () => {
  const { runs } = planRuns(['--watch', 'fuzz'], files);
  assert.equal(runs.length, 2);
  for (const run of runs) assert.ok(run.includes('--watch'));
  assert.ok(runs[0]?.includes('./test/support/ends.ts') && !runs[0].includes('--test-force-exit'));
  assert.ok(runs[1]?.includes('--test-force-exit') && !runs[1].includes('./test/support/ends.ts'));
  const [run] = planRuns(['--postgres', 'ids'], files).runs;
  assert.deepEqual(run?.slice(0, 3), ['test/support/with-postgres.ts', 'node', '--test']);
  assert.ok(!run?.includes('--postgres'));
});

test('the script runs the named file only, with the exit code of the tests', async () => {
  const named = await start(['test/ids.test.ts']);
  assert.equal(named.code, 0, named.output);
  const count = readFileSync(new URL('../ids.test.ts', import.meta.url), 'utf8').match(/^test\(/gm)?.length;
  assert.match(named.output, new RegExp(`^# tests ${count}$`, 'm'));
  const unknown = await start(['no-such-file', 'ids']);
  assert.equal(unknown.code, 2);
  assert.match(unknown.output, /^No test file matches: no-such-file\./m);
});

test('without words it runs every stage that package.json has', () => {
  const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  assert.equal(scripts.test, 'node scripts/test.ts');
  assert.deepEqual(stages.flat(), ['types', 'lint', 'test:sqlite', 'test:postgres', 'test:chaos']);
  for (const stage of stages.flat()) assert.ok(stage in scripts, stage);
});

function start(words: string[]): Promise<{ code: number; output: string }> {
  // A run inside a run is refused by Node unless it does not know of the outer one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = [script, '--test-reporter=tap', ...words];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env, timeout: 120_000 }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    );
  });
}
