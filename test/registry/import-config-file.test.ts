import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { plan } from '../../src/registry/config-file.ts';
import type { Registration } from '../../src/registry/server.ts';
import { startAggregator } from '../support/aggregator-process.ts';
import { stdioFeatureServer } from '../support/servers/feature-server.ts';

const directory = mkdtempSync(join(tmpdir(), 'config-file-'));
after(() => rmSync(directory, { recursive: true, force: true }));

const stdio = (name: string, command: string, more: Partial<Registration> = {}): Registration =>
  ({ name, transport_type: 'STDIO', connection_config: { command }, ...more }) as Registration;

test('a plan adds, changes and removes only servers of the file, and only what differs', () => {
  const current = [
    { id: '1', origin: 'config' as const, registration: stdio('same', 'a', { description: null, auto_connect: true }) },
    { id: '2', origin: 'config' as const, registration: stdio('moved', 'a') },
    { id: '3', origin: 'config' as const, registration: stdio('renamed', 'a', { description: 'old' }) },
    { id: '4', origin: 'config' as const, registration: stdio('gone', 'a') },
    { id: '5', origin: 'api' as const, registration: stdio('by-hand', 'a') },
    { id: '6', origin: 'api' as const, registration: stdio('untouched', 'a') },
  ];
  const wanted = [
    stdio('same', 'a'),
    stdio('moved', 'b'),
    stdio('renamed', 'a', { description: 'new' }),
    stdio('by-hand', 'b'),
    stdio('fresh', 'c'),
  ];
  assert.deepEqual(plan(wanted, current), [
    { kind: 'remove', name: 'gone', id: '4' },
    { kind: 'change', name: 'moved', id: '2', patch: { transport_type: 'STDIO', connection_config: { command: 'b' } } },
    { kind: 'change', name: 'renamed', id: '3', patch: { description: 'new' } },
    { kind: 'taken', name: 'by-hand' },
    { kind: 'add', name: 'fresh', registration: stdio('fresh', 'c') },
  ]);
});

test('--config registers the servers of a file and follows it, however it is replaced or broken', async () => {
  const file = join(directory, 'servers.json');
  const save = (content: unknown) => {
    writeFileSync(`${file}.new`, typeof content === 'string' ? content : JSON.stringify(content));
    renameSync(`${file}.new`, file);
  };
  const server = (label: string) => stdioFeatureServer('legacy', { label });
  save({ mcpServers: { one: server('one'), two: server('two'), Bad: { type: 'teapot' } } });

  const aggregator = await startAggregator({ flags: ['--config', file] });
  const list = async () => {
    const response = await fetch(`${aggregator.url}/api/v1/aggregator/servers`, {
      headers: { authorization: `Bearer ${aggregator.token}` },
    });
    const { servers } = (await response.json()) as { servers: { name: string; description: string | null }[] };
    return servers.map(({ name }) => name);
  };
  const applied = (name: string, change: string) =>
    aggregator.logged((record) => record.server === name && record.change === change);
  try {
    await aggregator.logged((record) => record.msg === 'config file: invalid server' && record.server === 'Bad');
    await aggregator.logged((record) => record.server === 'one' && record.status === 'CONNECTED');
    assert.deepEqual(await list(), ['one', 'two']);

    save('{ "mcpServers": { "one": ');
    await aggregator.logged((record) => /could not read/.test(String(record.msg)));
    assert.deepEqual(await list(), ['one', 'two']);

    save({ mcpServers: { one: { ...server('one'), description: 'changed' }, three: server('three') } });
    await Promise.all([applied('two', 'remove'), applied('one', 'change'), applied('three', 'add')]);
    assert.deepEqual(await list(), ['one', 'three']);

    save({ mcpServers: { one: { ...server('one'), disabled: true }, three: server('three') } });
    await aggregator.logged((record) => record.server === 'one' && record.status === 'DISCONNECTED');

    writeFileSync(file, JSON.stringify({ mcpServers: {} }));
    await Promise.all([applied('one', 'remove'), applied('three', 'remove')]);
    assert.deepEqual(await list(), []);
  } finally {
    await aggregator.stop();
  }
});
