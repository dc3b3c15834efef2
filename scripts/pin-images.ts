/**
 * The digests that the tags of our images have now. `--base` prints the base image of deploy/Dockerfile by digest, `--name`
 * the name of our own image, which the chart states; a file
 * name writes an addition to deploy/compose/compose.yml that names every other image by digest:
 * docker compose -f compose.yml -f compose.pinned.yml up. Needs Docker and its registries.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const inspectTimeoutMs = 60_000;
const read = (path: string) => readFileSync(new URL(`../deploy/${path}`, import.meta.url), 'utf8');

export function baseImageOf(dockerfile: string): string {
  const image = /^ARG NODE_IMAGE=(\S+)$/m.exec(dockerfile)?.[1];
  if (image === undefined) throw new Error('deploy/Dockerfile names no NODE_IMAGE');
  return image;
}

/** Of our own image, without a tag. */
export function ourImageOf(values: string): string {
  const name = /^image:\n {2}repository: (\S+)$/m.exec(values)?.[1];
  if (name === undefined) throw new Error('the values of the chart name no image.repository');
  return name;
}

/** Services and the images that they take from a registry; our own image has no tag. */
export function imagesOf(compose: string): [service: string, image: string][] {
  const services = /^services:\n([\s\S]*?)^\S/m.exec(compose)?.[1] ?? '';
  return [...services.matchAll(/^ {2}([\w-]+):\n((?: {4}.*\n|\n)*)/gm)].flatMap(([, service = '', body = '']) => {
    const image = /^ {4}image: (\S+)$/m.exec(body)?.[1];
    return image === undefined ? [] : [[service, image] as [string, string]];
  });
}

export function withDigest(image: string, digest: string): string {
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`${image}: "${digest}" is no digest`);
  return `${image}@${digest}`;
}

export function toOverride(images: readonly [service: string, pinned: string][]): string {
  return `services:\n${images.map(([service, pinned]) => `  ${service}: { image: '${pinned}' }\n`).join('')}`;
}

function pin(image: string): string {
  const words = ['buildx', 'imagetools', 'inspect', image, '--format', '{{json .Manifest}}'];
  const { digest } = JSON.parse(execFileSync('docker', words, { encoding: 'utf8', timeout: inspectTimeoutMs }));
  return withDigest(image, String(digest));
}

if (import.meta.main) {
  const [target] = process.argv.slice(2);
  if (target === undefined) throw new Error('usage: node scripts/pin-images.ts --base | --name | <file>');
  if (target === '--base') console.log(pin(baseImageOf(read('Dockerfile'))));
  else if (target === '--name') console.log(ourImageOf(read('helm/mcp-aggregator/values.yaml')));
  else {
    const images = imagesOf(read('compose/compose.yml')).map(
      ([service, image]) => [service, pin(image)] as [string, string],
    );
    writeFileSync(target, toOverride(images));
  }
}
