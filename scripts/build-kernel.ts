/** Compiles src/search/scan.wat into src/search/scan-kernel.ts: `npm run build:kernel`. */
import { readFileSync, writeFileSync } from 'node:fs';
import wabt from 'wabt';

const source = new URL('../src/search/scan.wat', import.meta.url);
const target = new URL('../src/search/scan-kernel.ts', import.meta.url);

/** The target as it should be. */
export async function compiledKernel(): Promise<string> {
  const { parseWat } = await wabt();
  const module = parseWat('scan.wat', readFileSync(source, 'utf8'), { simd: true });
  const bytes = Buffer.from(module.toBinary({}).buffer).toString('base64');
  return readFileSync(target, 'utf8').replace(/(?<=const compiled =\n {2}')[^']*/, bytes);
}

if (import.meta.main) writeFileSync(target, await compiledKernel());
