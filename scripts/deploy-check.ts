/**
 * `npm run deploy:check`: everything under deploy/, checked by the programs that read it. Builds helm with Go unless it is
 * installed, and takes the descriptions of Kubernetes objects from Go's module proxy; what is missing is skipped, with the
 * reason. The exit code is 1 if a check fails. `-- --without-image` leaves out the image, which takes a minute.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { checkProxyFile, hasProxy, proxyNames } from './chaos/proxies.ts';
import { buildHelm, hasGo, kubernetesVersions, loadSchemas } from './deploy/go-tools.ts';
import { chart, findHelm, renderChart } from './deploy/helm.ts';
import type { Manifest } from './deploy/kubernetes-schemas.ts';
import { createManifests } from './deploy/manifests.ts';
import type { NetworkPolicy } from './deploy/network-policy.ts';
import { type Expectation, expectationsFor, findWrong, podOf } from './deploy/reachability.ts';
import { findUnresolved } from './deploy/references.ts';

interface Check {
  name: string;
  /** Why it cannot be done here. */
  missing?: string | false;
  /** What is wrong. */
  run(): string[];
}

const { values: flags } = parseArgs({ options: { 'without-image': { type: 'boolean', default: false } } });
const root = fileURLToPath(new URL('../', import.meta.url));
const deploy = join(root, 'deploy');
const work = mkdtempSync(join(tmpdir(), 'deploy-check-'));
const withGo = hasGo();
let failed = 0;

try {
  const helm = findHelm() ?? (withGo ? buildHelm() : undefined);
  for (const check of [...chartChecks(helm), ...programChecks()]) report(check);
} finally {
  rmSync(work, { recursive: true, force: true });
}
console.log(failed === 0 ? '\nEverything holds.' : `\n${failed} checks failed.`);
process.exitCode = failed === 0 ? 0 : 1;

function report({ name, missing = false, run }: Check): void {
  if (missing !== false) return console.log(`skipped  ${name}: ${missing}`);
  const problems = run();
  console.log(`${problems.length === 0 ? 'ok      ' : 'FAILED  '} ${name}`);
  for (const problem of problems) console.log(`           ${problem}`);
  if (problems.length > 0) failed += 1;
}

function chartChecks(helm: string | undefined): Check[] {
  const missing = helm === undefined && 'helm is not installed, and neither is Go to build it';
  const installed = helm ?? '';
  const examples = readdirSync(join(deploy, 'helm/examples')).map((name) => join(deploy, 'helm/examples', name));
  const renderings = new Map<string, Manifest[]>();
  const render = (file?: string) => {
    const name = file === undefined ? 'default values' : basename(file);
    const known =
      renderings.get(name) ?? parse(renderChart(installed, { valueFiles: file === undefined ? [] : [file] }));
    renderings.set(name, known);
    return known;
  };
  const everyRendering = () => [undefined, ...examples].map((file) => [file, render(file)] as const);
  return [
    { name: 'helm lint', missing, run: () => outcome(installed, ['lint', '--quiet', '--strict', chart]) },
    {
      name: 'deploy/kubernetes is what the chart renders',
      missing,
      run: () =>
        [...createManifests(installed)].flatMap(([name, text]) =>
          readFileSync(join(deploy, 'kubernetes', name), 'utf8') === text ? [] : [`${name}: run npm run manifests`],
        ),
    },
    ...[undefined, ...examples].map((file) => ({
      name: `${file === undefined ? 'default values' : basename(file)}: references resolve`,
      missing,
      run: () => findUnresolved(render(file)),
    })),
    ...kubernetesVersions.map((version) => ({
      name: `every rendering is valid in Kubernetes ${version}`,
      missing: missing || (!withGo && 'Go is not installed'),
      run: () => {
        const schemas = loadSchemas(version);
        const misspelt = { ...render()[0], metadata: { name: 'misspelt', lables: {} } } as Manifest;
        if (schemas.problemsOf(misspelt).length === 0) return ['a misspelt field is accepted'];
        return everyRendering().flatMap(([file, manifests]) =>
          manifests.flatMap((one) =>
            schemas.problemsOf(one).map((text) => `${file === undefined ? '' : `${basename(file)}: `}${text}`),
          ),
        );
      },
    })),
    { name: 'wrong values are refused by name', missing, run: () => wrongValues(installed) },
    { name: 'NetworkPolicy, default values', missing, run: () => reachabilityOf(render(), (expected) => expected) },
    {
      name: 'NetworkPolicy, open.yaml',
      missing,
      run: () =>
        reachabilityOf(render(exampleOf('open')), (expected) => ({ ...expected, isAllowed: isOpened(expected) })),
    },
    {
      name: 'NetworkPolicy, restricted.yaml',
      missing,
      run: () => findWrong(...restricted(render(exampleOf('restricted')))),
    },
  ];
}

function exampleOf(name: string): string {
  return join(deploy, `helm/examples/${name}.yaml`);
}

/** One port is open to everybody, and every destination. */
function isOpened({ connection: { to, port } }: Expectation): boolean {
  return !('labels' in to && 'app.kubernetes.io/name' in to.labels) || port === 8081;
}

function reachabilityOf(manifests: readonly Manifest[], change: (expected: Expectation) => Expectation): string[] {
  const { policies, pod } = networkOf(manifests);
  return findWrong(policies, expectationsFor(pod).map(change));
}

function restricted(manifests: readonly Manifest[]): [NetworkPolicy[], Expectation[]] {
  const { policies, pod } = networkOf(manifests);
  const other = (namespace: string) => podOf({ app: 'anything' }, namespace);
  const rows: [what: string, connection: Expectation['connection'], isAllowed: boolean][] = [
    ['pod → pod', { from: pod, to: pod, port: 8081 }, true],
    ['pod → DNS', { from: pod, to: other('kube-system'), port: 53, protocol: 'UDP' }, true],
    ['pod → its PostgreSQL outside', { from: pod, to: { address: '10.20.30.40' }, port: 5432 }, true],
    ['pod → another PostgreSQL outside', { from: pod, to: { address: '10.20.30.41' }, port: 5432 }, false],
    ['pod → Redis', { from: pod, to: other('db'), port: 6379 }, false],
    ['pod → MCP server in the namespace', { from: pod, to: other('tools'), port: 8000 }, true],
    ['pod → another port there', { from: pod, to: other('tools'), port: 22 }, false],
    ['pod → another namespace', { from: pod, to: other('payments'), port: 8000 }, false],
    ['pod → MCP server in the range', { from: pod, to: { address: '203.0.113.9' }, port: 443 }, true],
    ['pod → MCP server elsewhere', { from: pod, to: { address: '198.51.100.9' }, port: 443 }, false],
    ['Prometheus → pod', { from: other('monitoring'), to: pod, port: 8081 }, false],
  ];
  return [policies, rows.map(([what, connection, isAllowed]) => ({ what, connection, isAllowed }))];
}

function networkOf(manifests: readonly Manifest[]) {
  const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy') as unknown as NetworkPolicy[];
  const deployment = manifests.find(({ kind }) => kind === 'Deployment') as unknown as {
    metadata: { namespace: string };
    spec: { template: { metadata: { labels: Record<string, string> } } };
  };
  return { policies, pod: podOf(deployment.spec.template.metadata.labels, deployment.metadata.namespace) };
}

/** Each must be refused with a message that names the value. */
function wrongValues(helm: string): string[] {
  const wrong: [set: string, named: string][] = [
    ['replicaCount=0', 'replicaCount'],
    ['replicaCount=two', 'replicaCount'],
    ['replicas=3', 'replicas'],
    ['image.repository=', 'image/repository'],
    ['image.digest=sha256:1', 'image/digest'],
    ['publicUrl=mcp.example.com', 'publicUrl'],
    ['settings.DATABASE_URL=postgres://u:p@h/d', 'DATABASE_URL'],
    ['ingress.enabled=true', 'ingress.host'],
    ['externalSecret.enabled=true', 'externalSecret.storeRef.name'],
    ['networkPolicy.egress.services.cidrs[0]=10.0.0.1', 'cidrs'],
    ['shutdown.delaySeconds=-1', 'delaySeconds'],
  ];
  return wrong.flatMap(([set, named]) => {
    const { status, stderr } = spawnSync(helm, ['template', 'x', chart, '--kube-version', '1.31.0', '--set', set], {
      encoding: 'utf8',
    });
    if (status === 0) return [`${set} is accepted`];
    return stderr.includes(named) ? [] : [`${set}: the message does not name ${named}: ${stderr.trim()}`];
  });
}

function programChecks(): Check[] {
  const has = (program: string, ...words: string[]) => spawnSync(program, words).status === 0;
  const unit = join(deploy, 'systemd/mcp-aggregator.service');
  return [
    ...proxyNames.map((name) => ({
      name: `${name} accepts its file`,
      missing: !hasProxy(name) && 'not installed',
      run: () => [checkProxyFile(name, join(work, name))].filter((problem) => problem !== undefined),
    })),
    {
      name: 'systemd-analyze verify',
      missing: !has('systemd-analyze', '--version') && 'not installed',
      run: () => outcome('systemd-analyze', ['verify', unit], { isSilent: true }),
    },
    {
      name: 'promtool accepts the rules, and they fire at their thresholds',
      missing: !has('promtool', '--version') && 'not installed',
      run: () => [
        ...outcome('promtool', ['check', 'rules', join(deploy, 'prometheus/alerts.yml')]),
        ...outcome('promtool', ['test', 'rules', join(deploy, 'prometheus/alerts.test.yml')]),
      ],
    },
    {
      name: 'docker compose accepts its file',
      missing: !has('docker', 'compose', 'version') && 'not installed',
      run: () =>
        outcome('docker', [
          'compose',
          '--env-file',
          envFile(),
          '-f',
          join(deploy, 'compose/compose.yml'),
          'config',
          '--quiet',
        ]),
    },
    {
      name: 'the image: its files, and a start from them',
      missing: flags['without-image'] && 'left out',
      run: () => outcome(process.execPath, [join(root, 'scripts/image.ts')]),
    },
  ];
}

/** The example with something filled in. */
function envFile(): string {
  const text = readFileSync(join(deploy, 'compose/.env.example'), 'utf8').replaceAll(/^(\w+)=$/gm, '$1=filled-in');
  const file = join(work, 'env');
  writeFileSync(file, text);
  return file;
}

function outcome(program: string, words: string[], { isSilent = false } = {}): string[] {
  const { status, stdout, stderr } = spawnSync(program, words, { cwd: root, encoding: 'utf8' });
  const said = `${stdout}${stderr}`.trim();
  return status === 0 && !(isSilent && said !== '') ? [] : said.split('\n');
}

function parse(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS());
}
