/** Load balancers of the system with the files of deploy/; only addresses and ports are replaced. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../test/support/ports.ts';

export const proxyNames = ['nginx', 'haproxy', 'envoy'] as const;
export type ProxyName = (typeof proxyNames)[number];

export interface Proxy {
  url: string;
  close(): Promise<void>;
}

interface ProxyFile {
  file: string;
  /** The shipped text for these replicas. */
  adapt(text: string, port: number, replicas: readonly string[], directory: string): string;
  /** Arguments of the program; `file` is the adapted one. */
  args(file: string, directory: string): string[];
  check(file: string, directory: string): string[];
}

const startTimeoutMs = 10_000;
const shipped = (path: string) => readFileSync(new URL(`../../deploy/${path}`, import.meta.url), 'utf8');

const files: Record<ProxyName, ProxyFile> = {
  nginx: {
    file: 'nginx/mcp-aggregator.conf',
    adapt(text, port, replicas, directory) {
      const servers = replaceLine(
        text,
        /^( +)server aggregator-1:8081( .*)?;\n(?:\1server aggregator-\d:8081.*\n)*/m,
        (indent, rest) => replicas.map((address) => `${indent}server ${address}${rest};\n`).join(''),
      );
      const site = replaceLine(servers, /^( +)listen 8081;$/m, (indent) => `${indent}listen 127.0.0.1:${port};`);
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      return [
        ...(process.getuid?.() === 0 ? ['user root;'] : []),
        `pid ${join(directory, 'nginx.pid')};`,
        'worker_processes 1;',
        'error_log stderr warn;',
        'events { worker_connections 4096; }',
        'http {',
        'access_log off;',
        ...temporary.map((name) => `${name}_temp_path ${join(directory, name)};`),
        site,
        '}',
      ].join('\n');
    },
    args: (file, directory) => ['-p', directory, '-c', file, '-g', 'daemon off;'],
    check: (file, directory) => ['-p', directory, '-c', file, '-t'],
  },
  haproxy: {
    file: 'haproxy/haproxy.cfg',
    adapt(text, port, replicas) {
      const servers = replaceLine(
        text,
        /^( +)server aggregator-1 aggregator-1:8081(.*)\n(?:\1server aggregator-\d .*\n)*/m,
        (indent, rest) =>
          replicas.map((address, place) => `${indent}server aggregator-${place + 1} ${address}${rest}\n`).join(''),
      );
      return replaceLine(servers, /^( +)bind :8081$/m, (indent) => `${indent}bind 127.0.0.1:${port}`);
    },
    args: (file) => ['-db', '-f', file],
    check: (file) => ['-c', '-f', file],
  },
  envoy: {
    file: 'envoy/envoy.yaml',
    adapt(text, port, replicas) {
      const endpoint =
        /^( +)- endpoint: \{ address: \{ socket_address: \{ address: aggregator-1, port_value: 8081 \} \} \}\n(?:\1- endpoint: .*\n)*/m;
      const servers = replaceLine(text, endpoint, (indent) =>
        replicas
          .map((address) => {
            const [host, own] = address.split(':');
            return `${indent}- endpoint: { address: { socket_address: { address: ${host}, port_value: ${own} } } }\n`;
          })
          .join(''),
      );
      return replaceLine(
        servers,
        /^( +)address: \{ socket_address: \{ address: 0\.0\.0\.0, port_value: 8081 \} \}$/m,
        (indent) => `${indent}address: { socket_address: { address: 127.0.0.1, port_value: ${port} } }`,
      );
    },
    args: (file) => ['-c', file, '--log-level', 'warn', '--concurrency', '1', '--use-dynamic-base-id'],
    check: (file) => ['--mode', 'validate', '-c', file, '--log-level', 'warn'],
  },
};

/** The file was changed and the replacement does not fit any more: a test of something else would be worthless. */
function replaceLine(text: string, pattern: RegExp, replacement: (...groups: string[]) => string): string {
  if (!pattern.test(text)) throw new Error(`the shipped file has no line that matches ${pattern}`);
  return text.replace(pattern, (_all, ...groups) =>
    replacement(...groups.slice(0, -2).map((group) => String(group ?? ''))),
  );
}

/** Debian keeps two of them in /usr/sbin, which is not in the PATH of everybody. */
const environment = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };

const programOf = (name: ProxyName) => (name === 'envoy' ? (process.env.ENVOY ?? name) : name);

export const hasProxy = (name: ProxyName): boolean =>
  spawnSync(programOf(name), [name === 'envoy' ? '--version' : '-v'], { env: environment }).status === 0;

function write(name: ProxyName, directory: string, port: number, replicas: readonly string[]): string {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, files[name].file.replaceAll('/', '-'));
  writeFileSync(file, files[name].adapt(shipped(files[name].file), port, replicas, directory));
  return file;
}

/** What the program says of the shipped file; undefined if it accepts it. */
export function checkProxyFile(name: ProxyName, directory: string): string | undefined {
  const file = write(name, directory, 8081, ['127.0.0.1:9001', '127.0.0.1:9002']);
  const words = files[name].check(file, directory);
  const { status, stdout, stderr } = spawnSync(programOf(name), words, { env: environment, encoding: 'utf8' });
  return status === 0 ? undefined : `${stdout}${stderr}`.trim();
}

/** `replicas`: host:port. */
export async function startProxy(name: ProxyName, directory: string, replicas: readonly string[]): Promise<Proxy> {
  const port = await freePort();
  const file = write(name, directory, port, replicas);
  const log = createWriteStream(join(directory, `${name}.log`), { flags: 'a' });
  const child = spawn(programOf(name), files[name].args(file, directory), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment,
  });
  for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
  await untilAccepting(child, port, name);
  return { url: `http://127.0.0.1:${port}`, close: () => end(child) };
}

async function untilAccepting(child: ChildProcess, port: number, name: string): Promise<void> {
  const deadline = performance.now() + startTimeoutMs;
  while (!(await accepts(port))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      await end(child);
      throw new Error(`${name} does not listen (exit code ${child.exitCode})`);
    }
    await delay(50);
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.end();
      resolve(true);
    });
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const reluctant = setTimeout(() => child.kill('SIGKILL'), 3_000);
  await ended;
  clearTimeout(reluctant);
}
