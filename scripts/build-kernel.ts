/** Compiles every `<name>.wat` in src/similarity into the `<name>-kernel.ts` beside it: `npm run build:kernel`. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import wabt from 'wabt';

const folder = new URL('../src/similarity/', import.meta.url);

export const kernelSources = readdirSync(folder).filter((name) => name.endsWith('.wat'));

export function kernelFile(source: string): URL {
  return new URL(source.replace(/\.wat$/, '-kernel.ts'), folder);
}

/** The kernel file as it should be. */
export async function compileKernel(source: string): Promise<string> {
  const { parseWat } = await wabt();
  const module = parseWat(source, readFileSync(new URL(source, folder), 'utf8'), { simd: true });
  const bytes = Buffer.from(module.toBinary({}).buffer).toString('base64');
  return readFileSync(kernelFile(source), 'utf8').replace(/(?<=const compiled =\n {2}')[^']*/, bytes);
}

if (import.meta.main) {
  for (const source of kernelSources) writeFileSync(kernelFile(source), await compileKernel(source));
}
