import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** `npm run bench <name> -- options` runs bench/<name>.ts; without a name it lists what there is. */
const parts = new Set([
  ...['aggregator', 'bench', 'plain-bm25', 'query-collection', 'query-deps', 'query-memory'],
  ...['query-servers', 'query-tokens', 'relay', 'table'],
  ...['search-build', 'search-floor', 'search-measures', 'search-scale', 'search-sets', 'skill-labels'],
]);
const names = readdirSync(new URL('.', import.meta.url))
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length))
  .filter((name) => !parts.has(name));

const [name = '', ...options] = process.argv.slice(2);
if (names.includes(name)) {
  const file = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const { status } = spawnSync(process.execPath, [...process.execArgv, file, ...options], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
} else {
  console.error(`Usage: npm run bench <name> -- [options], with <name> one of: ${names.join(', ')}`);
  process.exitCode = 1;
}
