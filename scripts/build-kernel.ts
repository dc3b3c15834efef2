/** Compiles src/query/compare.wat into src/query/compare-kernel.ts: `npm run build:kernel`. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('../src/query/compare.wat', import.meta.url));
const target = new URL('../src/query/compare-kernel.ts', import.meta.url);
const compiler = fileURLToPath(import.meta.resolve('wabt/bin/wat2wasm'));

/** The target as it should be. */
export function compiledKernel(): string {
  const bytes = execFileSync(process.execPath, [compiler, source, '--output=-']).toString('base64');
  return readFileSync(target, 'utf8').replace(/(?<=const compiled =\n {2}')[^']*/, bytes);
}

if (import.meta.main) writeFileSync(target, compiledKernel());
