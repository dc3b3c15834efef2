/** What `npm run deploy:check` takes from Go's module proxy: helm, and the descriptions of Kubernetes objects. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { cachedHelm } from './helm.ts';
import { createKubernetesSchemas, type KubernetesSchemas } from './kubernetes-schemas.ts';

const helmVersion = 'v3.19.0';
/** The oldest that the chart accepts, and a current one. */
export const kubernetesVersions = ['v1.25.16', 'v1.34.1'] as const;
const operatorVersion = 'v0.85.0';
const externalSecretsVersion = 'v1.3.2';
const cache = dirname(cachedHelm);
const buildTimeoutMs = 1_200_000;

export const hasGo = (): boolean => spawnSync('go', ['version']).status === 0;

/** Takes some minutes, once. */
export function buildHelm(): string {
  mkdirSync(cache, { recursive: true });
  const env = { ...process.env, GOBIN: cache };
  execFileSync('go', ['install', `helm.sh/helm/v3/cmd/helm@${helmVersion}`], {
    env,
    timeout: buildTimeoutMs,
    stdio: 'pipe',
  });
  return cachedHelm;
}

export function loadSchemas(version: (typeof kubernetesVersions)[number]): KubernetesSchemas {
  const swagger = JSON.parse(fileOf('k8s.io/kubernetes', version, 'api/openapi-spec/swagger.json'));
  const monitors = fileOf(
    'github.com/prometheus-operator/prometheus-operator',
    operatorVersion,
    'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
  );
  const secrets = fileOf(
    'github.com/external-secrets/external-secrets',
    externalSecretsVersion,
    'config/crds/bases/external-secrets.io_externalsecrets.yaml',
  );
  return createKubernetesSchemas(swagger, [parse(monitors), parse(secrets)]);
}

/** A file of a module; Go verifies what it downloads. */
function fileOf(module: string, version: string, path: string): string {
  const copy = join(cache, `${module}-${version}-${path}`.replaceAll('/', '-'));
  if (!existsSync(copy)) {
    mkdirSync(cache, { recursive: true });
    const words = ['mod', 'download', '-json', `${module}@${version}`];
    const { Dir } = JSON.parse(execFileSync('go', words, { cwd: cache, encoding: 'utf8', timeout: buildTimeoutMs }));
    writeFileSync(copy, readFileSync(join(Dir, path)));
  }
  return readFileSync(copy, 'utf8');
}
