import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { parseAllDocuments } from 'yaml';
import { checkProxyFile, hasProxy, proxyNames } from '../../scripts/chaos/proxies.ts';
import { findHelm, renderChart } from '../../scripts/deploy/helm.ts';
import { createManifests, hashOfChart } from '../../scripts/deploy/manifests.ts';
import { expectationsFor, findWrong, podOf } from '../../scripts/deploy/reachability.ts';
import { findUnresolved, secretKeysOf } from '../../scripts/deploy/references.ts';
import { settings } from '../../src/config/settings.ts';
import { createMetrics } from '../../src/metrics.ts';
import { promtool, withoutPromtool } from '../support/promtool.ts';

const deploy = fileURLToPath(new URL('../../deploy/', import.meta.url));
const everyFile = readdirSync(deploy, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));
const isTemplate = (file: string) => file.startsWith(join(deploy, 'helm/mcp-aggregator/templates'));
const templates = everyFile.filter(isTemplate);
const files = everyFile.filter((file) => !isTemplate(file));
const read = (name: string) => readFileSync(join(deploy, name), 'utf8');
// biome-ignore lint/suspicious/noExplicitAny: manifests of every kind
const parse = (text: string): any[] =>
  parseAllDocuments(text, { merge: true }).map((document) => {
    assert.deepEqual(document.errors, []);
    return document.toJS();
  });
const [compose] = parse(read('compose/compose.yml'));
const manifests = files
  .filter((file) => file.startsWith(join(deploy, 'kubernetes')))
  .flatMap((file) => parse(readFileSync(file, 'utf8')));
const manifest = (kind: string) => manifests.find((one) => one.kind === kind);
const known = new Set<string>(Object.values(settings).map(({ env }) => env));
const secret = new Set(
  Object.values(settings)
    .filter((setting) => 'secret' in setting)
    .map(({ env }) => env as string),
);
const docs = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
const kubernetesDocs = readFileSync(new URL('../../docs/kubernetes.md', import.meta.url), 'utf8');
const helm = findHelm();

test('every YAML and JSON file parses', () => {
  for (const file of files.filter((name) => /\.ya?ml$/.test(name)))
    assert.ok(parse(readFileSync(file, 'utf8')).length > 0);
  for (const file of files.filter((name) => name.endsWith('.json'))) JSON.parse(readFileSync(file, 'utf8'));
});

test('every variable that is used or documented is a setting', () => {
  // Of the image, of other programs, and of the compose file itself.
  const others = new Set(['MCP_AGGREGATOR_URL', 'MCP_AGGREGATOR_TOKEN']);
  for (const file of [...files, ...templates]) {
    for (const [name] of readFileSync(file, 'utf8').matchAll(/\b(?:MCP|OTEL|ANTHROPIC)_[A-Z_]+[A-Z]\b/g)) {
      assert.ok(known.has(name) || others.has(name), `${name} in ${file}`);
    }
  }
  const used = [
    ...Object.keys(compose.services['aggregator-1'].environment),
    ...Object.keys(manifest('ConfigMap').data),
    ...manifest('Deployment').spec.template.spec.containers[0].env.map((one: { name: string }) => one.name),
  ];
  for (const name of used) assert.ok(known.has(name), name);
  for (const page of [docs, kubernetesDocs]) {
    for (const [name] of page.matchAll(/\bMCP_[A-Z_]+[A-Z]\b/g)) {
      assert.ok(known.has(name) || name === 'MCP_AGGREGATOR', name);
    }
  }
});

test('MON-003: probes, resources and replicas', () => {
  const { spec } = manifest('Deployment');
  const [container] = spec.template.spec.containers;
  for (const [probe, path, initialDelaySeconds, periodSeconds] of [
    ['livenessProbe', '/livez', 10, 30],
    ['readinessProbe', '/readyz', 5, 10],
  ] as const) {
    const { httpGet, ...times } = container[probe];
    assert.deepEqual([httpGet.path, httpGet.port, httpGet.httpHeaders], [path, 8081, undefined]);
    assert.deepEqual([times.initialDelaySeconds, times.periodSeconds], [initialDelaySeconds, periodSeconds]);
  }
  assert.deepEqual(container.resources, {
    requests: { cpu: '500m', memory: '512Mi' },
    limits: { cpu: '2000m', memory: '2Gi' },
  });
  assert.ok(spec.replicas >= 2);
  assert.equal(manifest('Service').spec.sessionAffinity, 'ClientIP');
});

test('the manifests are those of the chart as it is', () => {
  const [{ resources }] = parse(read('kubernetes/kustomization.yaml'));
  const present = readdirSync(join(deploy, 'kubernetes')).filter((name) => name !== 'kustomization.yaml');
  assert.deepEqual(resources.sort(), present.sort());
  const recorded = /^# Chart: sha256:(\w+)$/m.exec(read('kubernetes/kustomization.yaml'))?.[1];
  assert.equal(recorded, hashOfChart(), 'the chart was changed: npm run manifests');
});

test('the chart renders to the manifests and, with every example, to objects that fit together', {
  skip: helm === undefined ? 'helm is not installed (HELM names it; npm run deploy:check builds it)' : false,
}, () => {
  for (const [name, text] of createManifests(helm ?? '')) assert.equal(read(`kubernetes/${name}`), text, name);
  for (const name of readdirSync(join(deploy, 'helm/examples'))) {
    const rendered = parse(renderChart(helm ?? '', { valueFiles: [join(deploy, 'helm/examples', name)] }));
    assert.deepEqual(findUnresolved(rendered), [], name);
  }
});

test('the manifests fit together, and secrets come by reference only', () => {
  assert.deepEqual(findUnresolved(manifests), []);
  const { spec, metadata } = manifest('Deployment');
  assert.equal(manifest('PodDisruptionBudget').spec.minAvailable, 1);
  const [container] = spec.template.spec.containers;
  for (const { name, value, valueFrom } of container.env) {
    assert.ok(value === undefined && valueFrom.secretKeyRef.name === metadata.name, name);
    assert.ok(kubernetesDocs.includes(`\`${valueFrom.secretKeyRef.key}\``), `${name} is documented`);
  }
  for (const key of secretKeysOf([manifest('Deployment')], metadata.name)) {
    assert.ok(kubernetesDocs.includes(`--from-literal=${key}=`), `${key} is created by a command in the docs`);
  }
  for (const name of Object.keys(manifest('ConfigMap').data)) assert.equal(secret.has(name), false, name);
  for (const [name, value] of Object.entries(compose.services['aggregator-1'].environment)) {
    if (secret.has(name) && name !== 'QDRANT_URL') assert.match(String(value), /\$\{/, name);
  }
  assert.equal(container.securityContext.readOnlyRootFilesystem, true);
  assert.equal(spec.template.spec.securityContext.runAsNonRoot, true);
});

test('a reference that does not resolve, or a stop that takes too long, is found', () => {
  const changed = (change: (all: typeof manifests) => void) => {
    const copy = structuredClone(manifests);
    change(copy);
    return findUnresolved(copy).join('\n');
  };
  const of = (all: typeof manifests, kind: string) => all.find((one) => one.kind === kind);
  assert.match(
    changed((all) => {
      of(all, 'Service').spec.selector = { app: 'another' };
    }),
    /Service mcp-aggregator selects nothing/,
  );
  assert.match(
    changed((all) => {
      of(all, 'ConfigMap').metadata.name = 'another';
    }),
    /no ConfigMap mcp-aggregator/,
  );
  assert.match(
    changed((all) => {
      of(all, 'Deployment').spec.template.spec.terminationGracePeriodSeconds = 30;
    }),
    /a stop takes longer than its grace period/,
  );
});

test('DEP-005: under the network policy pods reach what they need, and nothing reaches what it must not', () => {
  const { spec, metadata } = manifest('Deployment');
  const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
  assert.equal(policies.length, 1);
  const pod = podOf(spec.template.metadata.labels, metadata.namespace);
  const expectations = expectationsFor(pod);
  assert.ok(expectations.some(({ isAllowed }) => isAllowed) && expectations.some(({ isAllowed }) => !isAllowed));
  assert.deepEqual(findWrong(policies, expectations), []);
  // Each rule is needed: without it more is unreachable. That for MCP servers inside includes our own pods.
  const without = (...places: number[]) => {
    const fewer = structuredClone(policies);
    fewer[0].spec.egress = fewer[0].spec.egress.filter((_rule: unknown, place: number) => !places.includes(place));
    return findWrong(fewer, expectations).length;
  };
  const serversInside = 3;
  for (const place of policies[0].spec.egress.keys()) {
    const before = place === serversInside ? 0 : without(serversInside);
    assert.ok(without(serversInside, place) > before, `egress rule ${place}`);
  }
  assert.deepEqual(findWrong([], expectations).length, expectations.filter(({ isAllowed }) => !isAllowed).length);
});

test('the schema of the chart accepts its values and the examples, and refuses secrets and unknown values', () => {
  const schema = JSON.parse(read('helm/mcp-aggregator/values.schema.json'));
  const validate = new Ajv({ strict: true, allowUnionTypes: true, strictRequired: false }).compile(schema);
  const [values] = parse(read('helm/mcp-aggregator/values.yaml'));
  const isValid: boolean = validate(values);
  assert.ok(isValid, JSON.stringify(validate.errors));
  assert.deepEqual(
    Object.keys(schema.properties)
      .filter((name) => name !== 'global')
      .sort(),
    Object.keys(values).sort(),
  );
  for (const name of readdirSync(join(deploy, 'helm/examples'))) {
    const example = parse(read(`helm/examples/${name}`))[0];
    const isValid: boolean = validate(example);
    assert.ok(isValid, `${name}: ${JSON.stringify(validate.errors)}`);
    for (const setting of Object.keys(example.settings ?? {})) assert.ok(known.has(setting), setting);
  }
  const open = new Set(['OTEL_EXPORTER_OTLP_ENDPOINT']);
  for (const name of secret) assert.equal(validate({ settings: { [name]: 'x' } }), open.has(name), name);
  for (const wrong of [
    { replicas: 2 },
    { replicaCount: 0 },
    { image: { repository: 'a:1' } },
    { publicUrl: 'mcp.example.com' },
    { shutdown: { preStopSeconds: 5, delaySeconds: 5 } },
    { networkPolicy: { egress: { services: { ports: [], cidrs: [] } } } },
    { networkPolicy: { egress: { outside: { cidrs: ['10.0.0.1'] } } } },
  ]) {
    assert.equal(validate(wrong), false, JSON.stringify(wrong));
  }
});

test('load balancers send again only what was not sent, and ask whether a replica is ready', () => {
  const nginx = read('nginx/mcp-aggregator.conf');
  assert.match(nginx, /^ +proxy_next_upstream error timeout;$/m);
  assert.doesNotMatch(nginx, /non_idempotent|http_5/);
  const haproxy = read('haproxy/haproxy.cfg');
  assert.match(haproxy, /^ +retry-on conn-failure$/m);
  assert.match(haproxy, /http-check send meth GET uri \/readyz/);
  const [envoy] = parse(read('envoy/envoy.yaml'));
  const [cluster] = envoy.static_resources.clusters;
  assert.equal(cluster.health_checks[0].http_health_check.path, '/readyz');
  assert.match(read('envoy/envoy.yaml'), /^ +retry_on: connect-failure,refused-stream$/m);
  for (const name of ['aggregator-1', 'aggregator-2'])
    for (const text of [nginx, haproxy, read('envoy/envoy.yaml')]) assert.ok(text.includes(name));
});

for (const name of proxyNames) {
  test(`${name} accepts its file`, { skip: hasProxy(name) ? false : `${name} is not installed` }, async (t) => {
    const directory = await mkdtemp(join(tmpdir(), `${name}-`));
    t.after(() => rm(directory, { recursive: true, force: true }));
    assert.equal(checkProxyFile(name, directory), undefined);
  });
}

test('the image and the replicas of the compose file write nowhere but to their volumes', () => {
  const dockerfile = read('Dockerfile');
  assert.match(dockerfile, /^USER node$/m);
  assert.match(dockerfile, /^HEALTHCHECK /m);
  for (const name of ['aggregator-1', 'aggregator-2']) {
    const service = compose.services[name];
    assert.equal(service.read_only, true);
    assert.deepEqual(service.cap_drop, ['ALL']);
    assert.ok(read('nginx/mcp-aggregator.conf').includes(`${name}:8081`));
    assert.ok(
      parse(read('prometheus/prometheus.yml'))[0].scrape_configs[0].static_configs[0].targets.includes(`${name}:8081`),
    );
  }
  for (const name of ['postgres', 'redis', 'qdrant', 'prometheus', 'grafana', 'nginx'])
    assert.ok(name in compose.services);
});

test('every service of the compose file is limited, and Redis wants a password', () => {
  for (const [name, service] of Object.entries<{ deploy?: { resources: { limits: Record<string, unknown> } } }>(
    compose.services,
  )) {
    const limits = service.deploy?.resources.limits ?? {};
    for (const what of ['cpus', 'memory', 'pids']) assert.ok(what in limits, `${what} of ${name}`);
  }
  assert.ok(compose.services.redis.command.includes('--requirepass'));
  assert.match(compose.services['aggregator-1'].environment.REDIS_URL, /^redis:\/\/:\$\{REDIS_PASSWORD/);
  for (const [, name = ''] of read('compose/compose.yml').matchAll(/\$\{(\w+):\?/g)) {
    assert.match(read('compose/.env.example'), new RegExp(`^${name}=`, 'm'));
  }
  assert.match(read('Dockerfile'), /^RUN npm ci --ignore-scripts/m);
});

const licences = new Set([
  'MIT',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'Unlicense',
  '0BSD',
  'BlueOak-1.0.0',
]);

test('what is shipped has licences that fit ours, and hashes in the lock', () => {
  const { packages } = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'));
  for (const [name, entry] of Object.entries<Record<string, unknown>>(packages)) {
    if (name === '' || entry.dev === true) continue;
    assert.ok(licences.has(String(entry.license)), `${name}: ${entry.license}`);
    assert.match(String(entry.integrity), /^sha512-/, name);
  }
});

test('MON-002: promtool accepts the alert rules, they fire at the thresholds, and each is explained', {
  skip: withoutPromtool,
}, async () => {
  await promtool(['check', 'rules', join(deploy, 'prometheus/alerts.yml')]);
  await promtool(['test', 'rules', join(deploy, 'prometheus/alerts.test.yml')]);
  await promtool(['check', 'config', '--syntax-only', join(deploy, 'prometheus/prometheus.yml')]);
  const [{ groups }] = parse(read('prometheus/alerts.yml'));
  for (const { alert, annotations } of groups[0].rules) {
    if (alert === undefined) continue;
    assert.ok(docs.includes(`\n### ${alert}\n`), alert);
    assert.equal(annotations.runbook, `docs/operations.md#${alert.toLowerCase()}`);
  }
});

test('the dashboard and the rules ask for metrics that exist', { skip: withoutPromtool }, async (t) => {
  const metrics = createMetrics({ toolLabels: false, engine: 'sqlite' });
  const server = { name: 's', status: 'CONNECTED', consecutiveFailures: 0, active: 0, queued: 0, era: 'modern' };
  metrics.watch({
    servers: () => [{ ...server, sharedSessions: 1, clientSessions: 1, childPids: [1] }],
    tools: () => ({ total: 1, classified: 1 }),
    childMemory: async () => 1,
    audit: () => ({ waiting: 0, dropped: 0 }),
    pendingChanges: () => 0,
  });
  metrics.watchSessions(() => [['session', 'legacy', 1]]);
  metrics.watchBacklog({ embedding: () => 0, classification: () => 0 });
  metrics.onCall({ server: 's', tool: 't', outcome: 'overloaded', routingMs: 1, executionMs: 1 });
  metrics.onHealthCheck('s', { ms: 1, failed: true });
  metrics.onReconnected('s');
  metrics.onLoopBlocked(300, { server: 's' });
  metrics.onRequest('GET', '/', 200, 1);
  const exposed = await metrics.render();
  metrics.close();
  const names = new Set([...exposed.matchAll(/^([a-z_]+)[{ ]/gm)].map(([, name]) => name));

  const dashboard = JSON.parse(read('grafana/dashboard.json'));
  const ids = dashboard.panels.map((panel: { id: number }) => panel.id);
  assert.equal(new Set(ids).size, ids.length);
  const queries: string[] = dashboard.panels.flatMap((panel: { targets?: { expr: string }[] }) =>
    (panel.targets ?? []).map(({ expr }) => expr),
  );
  for (const text of [...queries, read('prometheus/alerts.yml')]) {
    for (const [name] of text.matchAll(/\b(?:mcp_aggregator|process|nodejs)_[a-z_]+\b(?!:)/g)) {
      assert.ok(names.has(name), `${name} is not exposed`);
    }
  }

  // A dashboard's queries are rules that nobody records: promtool can read them as such.
  const directory = await mkdtemp(join(tmpdir(), 'dashboard-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const rules = queries.map((expr, place) => ({
    record: `panel:query:${place}`,
    expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
  }));
  await writeFile(join(directory, 'rules.yml'), JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
  await promtool(['check', 'rules', join(directory, 'rules.yml')]);
});
