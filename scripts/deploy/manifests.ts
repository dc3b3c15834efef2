/** The files of deploy/kubernetes: the chart with its own values, without what only Helm needs. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chart, renderChart } from './helm.ts';

const namespace = 'mcp';
const header = '# Generated from deploy/helm/mcp-aggregator by `npm run manifests`; do not edit.\n';

/** By file name. */
export function createManifests(helm: string): Map<string, string> {
  const files = new Map<string, string>();
  const documents = renderChart(helm, { namespace })
    .split(/^---\n/m)
    .filter((text) => text.trim() !== '');
  for (const document of documents) {
    const name = /^# Source: .*\/([\w-]+\.yaml)$/m.exec(document)?.[1];
    if (name === undefined) throw new Error(`no source in:\n${document}`);
    files.set(name, header + withoutHelm(document));
  }
  files.set('namespace.yaml', header + namespaceManifest);
  files.set('kustomization.yaml', kustomization([...files.keys()].sort()));
  return files;
}

function withoutHelm(document: string): string {
  return document
    .replace(/^# Source: .*\n/m, '')
    .replace(/^ +(app\.kubernetes\.io\/managed-by|helm\.sh\/chart): .*\n/gm, '');
}

const namespaceManifest = `apiVersion: v1
kind: Namespace
metadata:
  name: ${namespace}
  labels: { pod-security.kubernetes.io/enforce: restricted }
`;

const kustomization = (
  resources: readonly string[],
) => `${header}# The secret that they refer to is created by hand (docs/kubernetes.md).
# Chart: sha256:${hashOfChart()}
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: ${namespace}
resources:
${resources.map((name) => `  - ${name}\n`).join('')}`;

/** Tells without Helm whether the chart was changed afterwards. */
export function hashOfChart(): string {
  const hash = createHash('sha256');
  const files = readdirSync(chart, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  for (const file of files) hash.update(file.slice(chart.length)).update('\0').update(readFileSync(file)).update('\0');
  return hash.digest('hex');
}
