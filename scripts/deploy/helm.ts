/** Helm, where it is installed. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const chart = fileURLToPath(new URL('../../deploy/helm/mcp-aggregator', import.meta.url));
/** Where `npm run deploy:check` builds it. */
export const cachedHelm = fileURLToPath(new URL('../../node_modules/.cache/deploy-check/helm', import.meta.url));
/** Helm that was built without a version of Kubernetes takes a very old one. */
const usualVersion = '1.31.0';

const runs = (program: string) => spawnSync(program, ['version', '--short']).status === 0;

/** `HELM` names another one. */
export function findHelm(): string | undefined {
  const { HELM } = process.env;
  if (HELM !== undefined) return HELM;
  if (existsSync(cachedHelm)) return cachedHelm;
  return runs('helm') ? 'helm' : undefined;
}

export interface Rendering {
  release?: string;
  namespace?: string;
  /** As after `--set`. */
  set?: readonly string[];
  valueFiles?: readonly string[];
  kubernetesVersion?: string;
}

/** The documents of the chart as one text; throws what Helm says. */
export function renderChart(helm: string, rendering: Rendering = {}): string {
  const { release = 'mcp-aggregator', namespace = 'mcp', set = [], valueFiles = [] } = rendering;
  const { kubernetesVersion = usualVersion } = rendering;
  const words = ['template', release, chart, '--namespace', namespace, '--kube-version', kubernetesVersion];
  const values = [...valueFiles.flatMap((file) => ['--values', file]), ...set.flatMap((pair) => ['--set', pair])];
  return execFileSync(helm, [...words, ...values], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
