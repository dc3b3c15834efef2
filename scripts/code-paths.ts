/**
 * `npm run code-paths -- [--list call]`: how many source files and functions one operation executes, by V8's coverage of
 * the real app; with `--list`, the files of that operation with their functions.
 */
import { Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { printTable } from '../bench/table.ts';
import { postModern } from '../test/mcp/clients.ts';
import { startApp } from '../test/support/app.ts';
import { stdioFeatureServer } from '../test/support/servers/feature-server.ts';

const { values } = parseArgs({ options: { list: { type: 'string' } } });
const source = fileURLToPath(new URL('../src/', import.meta.url));
const server = stdioFeatureServer('legacy');

const inspector = new Session();
inspector.connect();
await inspector.post('Profiler.enable');
await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
const app = await startApp({ MCP_AGGREGATOR_HEALTH_INTERVAL: '3600' });

/** The functions that ran, by file. */
type Path = Map<string, string[]>;
const paths: Record<string, Path> = {};

try {
  await app.add('first', server);
  const id = await app.add('second', server);
  const servers = '/api/v1/aggregator/servers';
  const call = { name: 'first.echo', arguments: { message: 'hello', text: 'hello' } };
  await measure('call', () => postModern(app, 'tools/call', call));
  await measure('search', () => app.api('POST', '/api/v1/search', { query: 'echo a message' }));
  await measure('query', () => app.api('POST', '/api/v1/query', { query: 'which notes mention winter' }));
  await measure('discovery', () => app.api('POST', `${servers}/${id}/refresh`));
  let count = 0;
  await measure('registration', () => app.add(`more-${count++}`, server));
} finally {
  await app.close();
  inspector.disconnect();
}

const count = (path: Path) => [...path.values()].reduce((sum, functions) => sum + functions.length, 0);
printTable(
  'Source files and functions that one operation executes',
  ['operation', 'files', 'functions'],
  Object.entries(paths).map(([name, path]) => [name, path.size, count(path)]),
);
for (const [file, functions] of [...(paths[values.list ?? ''] ?? [])].sort())
  console.log(`${file}: ${functions.join(', ')}`);

/** What runs every time: the first time loads and compiles, and work in the background runs beside some of the others. */
async function measure(name: string, act: () => Promise<unknown>): Promise<void> {
  await act();
  const runs: Path[] = [];
  for (let run = 0; run < 5; run += 1) {
    await inspector.post('Profiler.takePreciseCoverage');
    await act();
    runs.push(await takePath());
  }
  const [first = new Map(), ...others] = runs;
  const path: Path = new Map();
  for (const [file, functions] of first) {
    const always = functions.filter((one: string) => others.every((other) => other.get(file)?.includes(one)));
    if (always.length > 0) path.set(file, always);
  }
  paths[name] = path;
}

async function takePath(): Promise<Path> {
  const { result } = await inspector.post('Profiler.takePreciseCoverage');
  const path: Path = new Map();
  for (const { url, functions } of result) {
    if (!url.startsWith('file:')) continue;
    const file = relative(source, fileURLToPath(url));
    const ran = functions.filter(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0);
    if (!file.startsWith('..') && ran.length > 0)
      path.set(
        file,
        ran.map(({ functionName }) => functionName),
      );
  }
  return path;
}
