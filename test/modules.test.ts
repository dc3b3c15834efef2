/** Who may import whom, as ARCHITECTURE.md says. Type imports count: they are dependencies as well. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { suite, test } from 'node:test';

const shared = [
  'cancellation',
  'changes',
  'commented-json',
  'config',
  'credential-key',
  'descriptors',
  'errors',
  'exact-json',
  'home',
  'log',
  'loopback',
  'metrics',
  'model',
  'event-loop-watchdog',
  'event-stream',
  'idle-collection',
  'ids',
  'json-rpc',
  'json-size',
  'json-scanner',
  'raw-result',
  'in-flight-table',
  'interruptible-delay',
  'lists',
  'long-text',
  'time-slice',
  'mutex',
  'unicode',
  'version',
  'worker-task',
  'worker-thread',
  'tracing',
  'prometheus',
  'request-bodies',
  'request-context',
  'safe-mode',
  'stop-file',
  'suggestions',
  'windows-process',
];

const modules: Record<string, string[]> = {
  // Topics carry rows of the store.
  changes: ['store'],
  similarity: [],
  store: [],
  statistics: ['store'],
  security: ['store'],
  registry: ['store', 'security'],
  oauth: ['store', 'security', 'registry'],
  upstream: ['registry', 'security'],
  health: ['upstream', 'registry'],
  catalog: ['upstream', 'registry', 'store'],
  skills: ['catalog', 'store', 'similarity'],
  search: ['catalog', 'skills', 'store', 'similarity'],
  routing: ['catalog', 'health', 'upstream', 'registry', 'security', 'store'],
  query: ['search', 'routing', 'catalog', 'store', 'similarity'],
  replicas: ['store', 'registry'],
  mcp: ['catalog', 'search', 'routing', 'query', 'upstream', 'registry', 'security', 'store'],
  http: [
    'store',
    'security',
    'registry',
    'oauth',
    'upstream',
    'health',
    'catalog',
    'skills',
    'search',
    'routing',
    'query',
    'statistics',
  ],
  // Not modules: they stand above all of them.
  app: ['*'],
  main: ['app', 'security'],
  // The commands speak HTTP; of the modules they know the shapes of the answers and the config files, how one signs in, and
  // how a database is repaired while no aggregator runs.
  cli: ['app', 'main', 'registry', 'http', 'security', 'oauth', 'store'],
};

/** Packages that have one home. `/` ends a folder; the rest are files. */
const homes: Record<string, string[]> = {
  kysely: ['store/'],
  pg: ['store/'],
  'node:sqlite': ['store/'],
  fastify: ['http/'],
  undici: ['upstream/', 'oauth/', 'health/probe.ts', 'cli/client.ts'],
  'node:child_process': [
    'upstream/',
    'cli/',
    'windows-process.ts',
    'security/command-output.ts',
    'store/data-directory.ts',
  ],
  'eventsource-parser': ['upstream/', 'cli/'],
  ioredis: ['replicas/redis.ts'],
};

const source = join(import.meta.dirname, '..', 'src');

suite('modules', () => {
  for (const file of sourceFiles()) {
    const name = relative(source, file).split(sep).join('/');
    const room = roomOf(name);
    test(`${name} imports only what its module may`, () => {
      const allowed = [...shared, room, ...(modules[room] ?? [])];
      for (const imported of importsOf(file)) {
        if (!imported.startsWith('.')) {
          const homesOf = Object.entries(homes).find(([name]) => imported === name || imported.startsWith(`${name}/`));
          if (homesOf === undefined) continue;
          assert.ok(
            homesOf[1].some((home) => name.startsWith(home)),
            `${imported} belongs in ${homesOf[1]}`,
          );
          continue;
        }
        const target = roomOf(
          relative(source, join(dirname(file), imported))
            .split(sep)
            .join('/'),
        );
        if (target.startsWith('..')) continue; // data beside the sources, such as package.json
        assert.ok(allowed.includes(target) || allowed.includes('*'), `${room} may not import ${target} (${imported})`);
      }
    });
  }

  test('the environment is handed in by bin/: no source file reads process.env', () => {
    // Where Windows itself is, is no setting.
    const others = sourceFiles().filter((file) => !file.endsWith('windows-process.ts'));
    const readers = others.filter((file) => readFileSync(file, 'utf8').includes('process.env'));
    assert.deepEqual(readers, []);
  });

  test('a command loads no validation schemas: they would take half of its time to start', () => {
    const loaded = new Set<string>();
    const load = (file: string) => {
      if (loaded.has(file)) return;
      loaded.add(file);
      for (const imported of importsOf(file, 'loaded'))
        if (imported.startsWith('.')) load(join(dirname(file), imported));
        else loaded.add(imported);
    };
    load(join(source, 'cli', 'cli.ts'));
    assert.ok(loaded.has('commander'));
    assert.ok(!loaded.has('zod'));
  });

  test('no barrels, no drawers for everything', () => {
    const names = sourceFiles().map((file) => relative(source, file).split(sep).at(-1) ?? '');
    const drawers = /^(index|types|utils?|helpers?|common|shared|misc)\.ts$|(manager|helper)\.ts$/i;
    assert.deepEqual(
      names.filter((name) => drawers.test(name)),
      [],
    );
    assert.deepEqual(
      names.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)*\.ts$/.test(name)),
      [],
    );
  });
});

function roomOf(name: string): string {
  return name.includes('/') ? (name.split('/')[0] ?? '') : name.replace(/\.ts$/, '');
}

function sourceFiles(): string[] {
  return readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(source, name))
    .sort();
}

/** `loaded`: only what loads together with the file, neither types nor what is imported later. */
function importsOf(file: string, which: 'all' | 'loaded' = 'all'): string[] {
  const text = readFileSync(file, 'utf8');
  const statements = text.matchAll(
    which === 'all'
      ? /^(?:import|export)\b[^'";]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm
      : /^(?:import|export)\b(?! type\b)[^'";]*?from\s+'([^']+)'|^import\s+'([^']+)'/gm,
  );
  return [...statements].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? '');
}
