/**
 * `npm run --silent sbom`: everything that is shipped, as CycloneDX. `npm sbom --omit dev` leaves out what tests use as
 * well (pg, undici, zod), so it is asked about a lock without the packages that only tests and builds use.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const npmTimeoutMs = 120_000;
const read = (name: string) => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'));

export function createSbom(): string {
  const { devDependencies: _, ...manifest } = read('package.json');
  const lock = read('package-lock.json');
  delete lock.packages[''].devDependencies;
  for (const [path, { dev }] of Object.entries<{ dev?: boolean }>(lock.packages)) if (dev) delete lock.packages[path];
  const directory = mkdtempSync(join(tmpdir(), 'sbom-'));
  try {
    // npm names the product after its directory.
    const cwd = join(directory, manifest.name);
    mkdirSync(cwd);
    writeFileSync(join(cwd, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(cwd, 'package-lock.json'), JSON.stringify(lock));
    const words = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
    const stdio: ['ignore', 'pipe', 'inherit'] = ['ignore', 'pipe', 'inherit'];
    return execFileSync('npm', words, { cwd, encoding: 'utf8', stdio, timeout: npmTimeoutMs });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

if (import.meta.main) process.stdout.write(createSbom());
