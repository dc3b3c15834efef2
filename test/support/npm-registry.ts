/**
 * An npm registry on this machine, so that the real `npx` runs in tests without the network. It offers the packages of
 * our own node_modules, and those that a test writes.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

type Manifest = { name: string; version: string } & Record<string, unknown>;

export interface WrittenPackage {
  manifest: Manifest;
  /** By path; package.json is made from the manifest. */
  files?: Record<string, string>;
}

export interface NpmRegistry {
  url: string;
  /** Asked for and not there. */
  missing: string[];
  close(): Promise<void>;
}

const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url));
const tarBlock = 512;

export async function startNpmRegistry(written: WrittenPackage[] = []): Promise<NpmRegistry> {
  const installed = findInstalled();
  const missing: string[] = [];
  let url = '';
  function answer(request: IncomingMessage, response: ServerResponse): void {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://npm').pathname).slice(1);
    const [name = '', version] = path.replace(/\.tgz$/, '').split('/-/');
    const own = written.filter(({ manifest }) => manifest.name === name);
    const known = installed.get(name) ?? [];
    if (own.length + known.length === 0) {
      missing.push(name);
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"Not found"}');
      return;
    }
    if (version === undefined) {
      const manifests = [...own.map(({ manifest }) => manifest), ...known.map((folder) => manifestIn(folder))];
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(describe(manifests, url)));
      return;
    }
    const ours = own.find(({ manifest }) => manifest.version === version);
    const folder = known.find((one) => manifestIn(one).version === version) ?? '';
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    response.end(ours === undefined ? packFolder(folder) : packWritten(ours));
  }
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A TCP listener has a port');
  url = `http://127.0.0.1:${address.port}/`;
  return {
    url,
    missing,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** What npm asks a registry for: every version, each with the address of its tarball. The first one is the latest. */
function describe(manifests: readonly Manifest[], url: string) {
  const [{ name, version }] = manifests as [Manifest];
  const versions = manifests.map(({ scripts: _scripts, devDependencies: _dev, ...manifest }) => [
    manifest.version,
    { ...manifest, dist: { tarball: `${url}${encodeURIComponent(name)}/-/${manifest.version}.tgz` } },
  ]);
  return { name, 'dist-tags': { latest: version }, versions: Object.fromEntries(versions) };
}

/** The folders of each package, the one that the others share first. */
function findInstalled(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const visit = (folder: string): void => {
    if (!existsSync(folder)) return;
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      if (name.startsWith('@')) visit(path);
      else if (existsSync(join(path, 'package.json'))) {
        const key = manifestIn(path).name;
        found.set(key, [...(found.get(key) ?? []), path]);
        visit(join(path, 'node_modules'));
      }
    }
  };
  visit(modules);
  return found;
}

const manifestIn = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

function packFolder(folder: string): Buffer {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => !/^node_modules([\\/]|$)/.test(path) && statSync(join(folder, path)).isFile())
    .map((path): [string, Buffer] => [path, readFileSync(join(folder, path))]);
  return pack(files);
}

function packWritten({ manifest, files = {} }: WrittenPackage): Buffer {
  const all = { ...files, 'package.json': JSON.stringify(manifest) };
  return pack(Object.entries(all).map(([path, text]) => [path, Buffer.from(text)]));
}

/** A gzipped tar in the format of POSIX 1003.1-1988. */
function pack(files: readonly [path: string, content: Buffer][]): Buffer {
  const blocks = files.flatMap(([path, content]) => [
    header(`package/${path.replaceAll('\\', '/')}`, content.length),
    content,
    Buffer.alloc((tarBlock - (content.length % tarBlock)) % tarBlock),
  ]);
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * tarBlock)]));
}

function header(path: string, size: number): Buffer {
  const block = Buffer.alloc(tarBlock);
  // A long path is split at a slash into its prefix and its name.
  const at = Buffer.byteLength(path) <= 100 ? -1 : path.indexOf('/', path.length - 101);
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`;
  const fields: [offset: number, text: string][] = [
    [0, path.slice(at + 1)],
    [100, octal(0o755, 8)],
    [108, octal(0, 8)],
    [116, octal(0, 8)],
    [124, octal(size, 12)],
    [136, octal(0, 12)],
    [148, ' '.repeat(8)],
    [156, '0'],
    [257, 'ustar\x0000'],
    [345, at === -1 ? '' : path.slice(0, at)],
  ];
  for (const [offset, text] of fields) block.write(text, offset);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}
