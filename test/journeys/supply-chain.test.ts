/** What is shipped can be traced: by the lock, by digests, by an SBOM, by provenance. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { baseImageOf, imagesOf, ourImageOf, toOverride, withDigest } from '../../scripts/pin-images.ts';
import { createSbom } from '../../scripts/sbom.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const workflow = parse(read('.github/workflows/release.yml'));
interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, unknown>;
}
const jobs = Object.entries<{ permissions: Record<string, string>; 'timeout-minutes': number; steps: Step[] }>(
  workflow.jobs,
);
const runsOf = (job: string) => workflow.jobs[job].steps.map(({ run = '' }: Step) => run).join('\n');
const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Record<string, unknown>> };
const ourImage = ourImageOf(read('deploy/helm/mcp-aggregator/values.yaml'));
const shipped = Object.entries(packages).filter(([path, entry]) => path !== '' && entry.dev !== true);

test('the lock names no registry, and what is shipped is complete in it', () => {
  for (const [path, entry] of Object.entries(packages)) assert.equal(entry.resolved, undefined, path);
  for (const [path, { dependencies = {}, optionalDependencies = {} }] of shipped) {
    for (const name of Object.keys({ ...(dependencies as object), ...(optionalDependencies as object) })) {
      const places = [`${path}/node_modules/${name}`, `node_modules/${name}`];
      assert.ok(
        places.some((place) => place in packages),
        `${name} of ${path}`,
      );
    }
  }
});

test('npm ci accepts the lock for what is shipped, as the image installs it', () => {
  const step = /^RUN (.*npm ci --ignore-scripts)$/m.exec(read('deploy/Dockerfile').split('COPY --from')[0] ?? '');
  assert.match(step?.[1] ?? '', /rm -rf node_modules && npm pkg delete devDependencies .*&& npm ci --ignore-scripts$/);
  const directory = mkdtempSync(join(tmpdir(), 'supply-chain-'));
  try {
    for (const file of ['package.json', 'package-lock.json']) {
      cpSync(new URL(`../../${file}`, import.meta.url), join(directory, file));
    }
    const words = (step?.[1] ?? '').slice((step?.[1] ?? '').indexOf('npm pkg delete'));
    execFileSync('sh', ['-c', `${words} --dry-run --offline`], { cwd: directory, stdio: 'pipe', timeout: 120_000 });
    assert.equal(existsSync(join(directory, 'node_modules')), false);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test('the SBOM lists everything that is shipped, with hashes, as CycloneDX', () => {
  for (const job of ['package', 'image']) assert.match(runsOf(job), /^node scripts\/sbom\.ts > sbom\.cdx\.json$/m);
  const sbom = JSON.parse(createSbom());
  assert.equal(sbom.bomFormat, 'CycloneDX');
  assert.equal(sbom.metadata.component.name, 'mcp-aggregator');
  const listed = new Map<string, { hashes?: { alg: string }[] }>(
    sbom.components.map((one: { name: string; version: string }) => [`${one.name}@${one.version}`, one]),
  );
  for (const [path, { version }] of shipped) {
    const name = `${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`;
    assert.equal(listed.get(name)?.hashes?.[0]?.alg, 'SHA-512', name);
  }
  assert.equal(
    listed.size,
    new Set(shipped.map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`)).size,
  );
});

test('the release workflow signs what it publishes, with actions by commit and no more rights than needed', () => {
  assert.deepEqual(workflow.permissions, {});
  for (const [name, { permissions, steps, ...job }] of jobs) {
    assert.ok(job['timeout-minutes'] > 0, name);
    assert.equal(permissions['id-token'], 'write', name);
    assert.equal(permissions.attestations, 'write', name);
    const actions = steps.flatMap(({ uses }) => uses ?? []);
    for (const action of actions) assert.match(action, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/, action);
    for (const what of ['attest-build-provenance', 'attest-sbom']) {
      assert.ok(
        actions.some((action) => action.startsWith(`actions/${what}@`)),
        `${what} in ${name}`,
      );
    }
    // What a tag or a title holds must not become a part of a script.
    for (const { run = '' } of steps) assert.doesNotMatch(run, /\$\{\{/);
  }
  assert.match(runsOf('package'), /npm publish .*--provenance/);
  assert.match(runsOf('image'), /NODE_IMAGE=\$base" --sbom=true --provenance=mode=max/);
  assert.match(runsOf('image'), /base="\$\(node scripts\/pin-images\.ts --base\)"/);
  assert.match(runsOf('package'), /node scripts\/pin-images\.ts compose\.pinned\.yml/);
  assert.match(runsOf('image'), /--platform linux\/amd64,linux\/arm64/);
  assert.match(runsOf('image'), /cosign sign --yes --recursive "\$NAME@\$DIGEST"/);
});

test('our image has one name everywhere, and the release pushes it', () => {
  assert.match(ourImage, /^ghcr\.io\/[\w-]+\/mcp-aggregator$/);
  assert.match(runsOf('image'), /name="\$\(node scripts\/pin-images\.ts --name\)"/);
  const pages = ['docs/operations.md', 'docs/kubernetes.md', 'docs/scaling.md', 'README.md', 'deploy/Dockerfile'];
  const manifests = ['deploy/compose/compose.yml', 'deploy/kubernetes/deployment.yaml'];
  for (const path of [...pages, ...manifests]) {
    for (const [name] of read(path).matchAll(/ghcr\.io\/[\w./-]+/g)) {
      const isOurs =
        name === ourImage || name === `${ourImage.slice(0, ourImage.lastIndexOf('/'))}/charts/mcp-aggregator`;
      assert.ok(isOurs, `${name} in ${path}`);
    }
  }
  for (const path of manifests) assert.ok(read(path).includes(ourImage), path);
  const { version } = JSON.parse(read('package.json'));
  const chart = parse(read('deploy/helm/mcp-aggregator/Chart.yaml'));
  assert.deepEqual([chart.version, chart.appVersion], [version, version], 'of the chart and of the package');
  assert.ok(read('deploy/kubernetes/deployment.yaml').includes(`image: ${ourImage}:${version}\n`));
});

test('every image of the compose file and the Dockerfile can be pinned', () => {
  const compose = read('deploy/compose/compose.yml');
  const dockerfile = read('deploy/Dockerfile');
  assert.match(baseImageOf(dockerfile), /^node:\d+-/);
  for (const [, from] of dockerfile.matchAll(/^FROM (?:--platform=\S+ )?(\S+)/gm)) assert.equal(from, '${NODE_IMAGE}');
  const named = Object.entries<{ image: string }>(parse(compose, { merge: true }).services)
    .filter(([, { image }]) => image !== ourImage)
    .map(([service, { image }]) => [service, image]);
  assert.deepEqual(imagesOf(compose), named);
  for (const [, image = ''] of named) assert.match(image, /:v?\d/);
  const digest = `sha256:${'0a'.repeat(32)}`;
  const override = parse(toOverride(imagesOf(compose).map(([service, image]) => [service, withDigest(image, digest)])));
  assert.deepEqual(
    Object.keys(override.services),
    named.map(([service]) => service),
  );
  assert.equal(override.services.redis.image, `${named.find(([service]) => service === 'redis')?.[1]}@${digest}`);
  assert.throws(() => withDigest('a:1', 'latest'), /is no digest/);
});
