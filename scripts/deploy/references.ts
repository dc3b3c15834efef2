/** Whether the objects of one installation fit together: selectors, names, keys, times. */
import type { Manifest } from './kubernetes-schemas.ts';

// biome-ignore lint/suspicious/noExplicitAny: manifests of every kind, which the schemas of Kubernetes check
type Any = any;

/** What does not fit; empty if everything does. */
export function findUnresolved(manifests: readonly Manifest[]): string[] {
  const all = manifests as readonly Any[];
  const of = (kind: string) => all.filter((one) => one.kind === kind);
  const has = (kind: string, name: string) => of(kind).some((one) => one.metadata.name === name);
  const problems: string[] = [];
  const expect = (holds: boolean, problem: string) => void (holds || problems.push(problem));

  for (const { metadata, spec } of of('Deployment')) {
    const { labels } = spec.template.metadata;
    const pod = spec.template.spec;
    const selects = (selector: Record<string, string>) =>
      Object.entries(selector).every(([key, value]) => labels[key] === value);
    expect(selects(spec.selector.matchLabels), `Deployment ${metadata.name} does not select its own pods`);
    for (const kind of ['Service', 'PodDisruptionBudget', 'NetworkPolicy', 'ServiceMonitor']) {
      for (const one of of(kind)) {
        const { selector, podSelector } = one.spec;
        const wanted = kind === 'ServiceMonitor' ? selectedBy(selector.matchLabels, of('Service')) : undefined;
        const fits = wanted ?? selects(podSelector?.matchLabels ?? selector.matchLabels ?? selector);
        expect(fits, `${kind} ${one.metadata.name} selects nothing`);
      }
    }
    expect(has('ServiceAccount', pod.serviceAccountName), `no ServiceAccount ${pod.serviceAccountName}`);
    const volumes = new Set(pod.volumes.map(({ name }: Any) => name));
    for (const container of pod.containers) {
      for (const { configMapRef } of container.envFrom ?? [])
        if (configMapRef !== undefined)
          expect(has('ConfigMap', configMapRef.name), `no ConfigMap ${configMapRef.name}`);
      for (const { name } of container.volumeMounts) expect(volumes.has(name), `no volume ${name}`);
      const ports = container.ports.map(({ containerPort }: Any) => containerPort);
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
        expect(ports.includes(container[probe].httpGet.port), `${probe} asks a port that is not open`);
      expect(
        gracePeriod(container, of('ConfigMap')) < pod.terminationGracePeriodSeconds,
        'a stop takes longer than its grace period',
      );
    }
  }
  for (const { metadata, spec } of of('Ingress')) {
    for (const { http } of spec.rules)
      for (const { backend } of http.paths)
        expect(has('Service', backend.service.name), `Ingress ${metadata.name}: no Service ${backend.service.name}`);
  }
  for (const { metadata, spec } of of('HorizontalPodAutoscaler')) {
    expect(has('Deployment', spec.scaleTargetRef.name), `HorizontalPodAutoscaler ${metadata.name} scales nothing`);
    expect(
      of('Deployment').every((one) => one.spec.replicas === undefined),
      'a fixed number of replicas would undo scaling',
    );
    expect(spec.minReplicas <= spec.maxReplicas, 'minReplicas is above maxReplicas');
  }
  for (const { metadata, spec } of of('ExternalSecret')) {
    const required = secretKeysOf(of('Deployment'), spec.target.name);
    const written = new Set(spec.data.map(({ secretKey }: Any) => secretKey));
    for (const key of required) expect(written.has(key), `ExternalSecret ${metadata.name} does not write ${key}`);
  }
  return problems;
}

const selectedBy = (selector: Record<string, string>, services: readonly Any[]) =>
  services.some(({ metadata }) => Object.entries(selector).every(([key, value]) => metadata.labels[key] === value));

/** Keys of a secret without which no pod starts. */
export function secretKeysOf(deployments: readonly Any[], secret: string): string[] {
  return deployments.flatMap(({ spec }) =>
    spec.template.spec.containers[0].env
      .map(({ valueFrom }: Any) => valueFrom?.secretKeyRef)
      .filter((reference: Any) => reference?.name === secret && reference.optional !== true)
      .map(({ key }: Any) => key),
  );
}

/** Seconds of everything that a stop may take. */
function gracePeriod(container: Any, configMaps: readonly Any[]): number {
  const settings = Object.assign({}, ...configMaps.map(({ data }) => data));
  const preStop = Number(container.lifecycle?.preStop?.exec?.command?.[1] ?? 0);
  return preStop + Number(settings.MCP_AGGREGATOR_SHUTDOWN_DELAY) + Number(settings.MCP_AGGREGATOR_SHUTDOWN_TIMEOUT);
}
