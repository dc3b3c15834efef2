/** Child processes on every platform: arguments arrive as they were given, and nothing outlives its server. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type AggregatorProcess, startAggregator } from '../support/aggregator-process.ts';
import { countRunning, isWindows, isWine, nodeThere, pathThere } from '../support/platform.ts';
import { until } from '../support/until.ts';
import { add, api, call } from './rest.ts';

const server = pathThere(fileURLToPath(new URL('./argument-server.js', import.meta.url)));
const directory = mkdtempSync(join(tmpdir(), 'with a space '));
after(() => rmSync(directory, { recursive: true, force: true }));

/** Starts the server as npm's scripts start theirs. */
function writeScript(): string {
  const path = join(directory, isWindows ? 'server.cmd' : 'server');
  const lines = isWindows
    ? ['@ECHO off', 'SETLOCAL', `"${nodeThere}" "${server}" %*`, '']
    : ['#!/bin/sh', `exec "${nodeThere}" "${server}" "$@"`, ''];
  writeFileSync(path, lines.join(isWindows ? '\r\n' : '\n'));
  chmodSync(path, 0o755);
  return pathThere(path);
}

const words = [
  'plain',
  'hello world',
  '',
  'a & echo pwned>file',
  'say "hi"',
  '"',
  '\\',
  'C:\\Program Files\\x\\',
  '\\"',
];
const signs = [
  '^',
  'a^b',
  '%PATH%',
  '100%',
  '!PATH!',
  '(x)',
  'a|b',
  '<in >out',
  ';,=',
  '$HOME `id` $(id)',
  "it's",
  'ä 世界 🙂',
  '*',
];
/** Wine's cmd.exe expands %cd:~,% and the expanded text once more, so that no percent sign gets through a script. */
const throughScript = (arg: string) => !isWine || !arg.includes('%');

suite('arguments', () => {
  let aggregator: AggregatorProcess;
  before(async () => {
    aggregator = await startAggregator();
  });
  after(() => aggregator.stop());

  test('reach a program as they were given', async () => {
    const args = [...words, ...signs, 'two\nlines'];
    await add(aggregator, 'program', nodeThere, [server, ...args]);
    assert.deepEqual(await call(aggregator, 'program.arguments'), args);
  });

  test('reach the program behind a script as they were given', async () => {
    const args = [...words, ...signs].filter(throughScript);
    await add(aggregator, 'script', writeScript(), args);
    assert.deepEqual(await call(aggregator, 'script.arguments'), args);
  });
});

suite('a server that starts a child and ignores its closed stdin', () => {
  async function start(aggregator: AggregatorProcess, name: string): Promise<string> {
    const mark = `mark-${randomUUID()}`;
    await add(aggregator, name, writeScript(), [mark]);
    await call(aggregator, `${name}.stay`);
    await until(() => countRunning(mark) >= 2, 'the server and its child run');
    return mark;
  }
  const gone = (mark: string) => until(() => countRunning(mark) === 0, 'all of them have ended');

  test('is gone after its removal', async (t) => {
    const aggregator = await startAggregator();
    t.after(() => aggregator.stop());
    const mark = await start(aggregator, 'removed');
    await api(aggregator, 'DELETE', '/aggregator/servers/removed');
    await gone(mark);
  });

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    test(`is gone after ${signal} of the aggregator`, async (t) => {
      const aggregator = await startAggregator();
      t.after(() => aggregator.stop('SIGKILL'));
      const mark = await start(aggregator, 'orphaned');
      await aggregator.stop(signal);
      await gone(mark);
    });
  }
});
