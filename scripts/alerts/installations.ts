/** The aggregators that are scraped: fresh installations, and others whose faults are made. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type AggregatorProcess, startAggregator } from '../../test/support/aggregator-process.ts';
import { freePort } from '../../test/support/ports.ts';
import { type Service, startPostgres } from '../../test/support/postgres.ts';
import { createFeatureProgram } from '../../test/support/servers/feature-program.ts';
import { startHttpProgram } from '../../test/support/servers/http-program.ts';

export const installationNames = ['empty', 'used', 'warning', 'critical', 'stored', 'starved', 'doomed'] as const;
export type InstallationName = (typeof installationNames)[number];

/** An aggregator that always has the same address, also after a restart. */
export interface Installation {
  readonly process: AggregatorProcess;
  /** host:port */
  readonly target: string;
  restart(env: Record<string, string>): Promise<void>;
  api(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>;
  call(name: string, args?: Record<string, unknown>): Promise<number>;
  register(name: string, base_url: string, more?: object): Promise<void>;
}

export interface Installations {
  at(name: InstallationName): Installation;
  postgres: Service;
  /** An MCP server over HTTP that can be taken away and changed. */
  upstream(label: string): Promise<Upstream>;
  close(): Promise<void>;
}

export interface Upstream {
  url: string;
  program: ReturnType<typeof createFeatureProgram>;
  close(): Promise<void>;
}

/** What a scrape needs; the rest is what an installation has. */
const scrapable = {
  MCP_AGGREGATOR_METRICS_PUBLIC: 'true',
  MCP_AGGREGATOR_SAFE_MODE: 'off',
};
const patienceMs = 60_000;

export async function startInstallations(scale: number, directory: string): Promise<Installations> {
  const closers: (() => unknown)[] = [];
  const close = async () => {
    for (const one of closers.splice(0).reverse()) await one();
  };
  try {
    const postgres = await startPostgres();
    closers.push(() => postgres.remove());
    const checked = { MCP_AGGREGATOR_HEALTH_INTERVAL: String(30 / scale) };
    const environments: Record<InstallationName, Record<string, string>> = {
      empty: {},
      used: {},
      warning: { ...checked, MCP_AGGREGATOR_TOOL_CHANGES: 'review' },
      // Nothing listens at the address of the model.
      critical: { ...checked, ...(await deadModel()) },
      stored: { DATABASE_URL: postgres.url, MCP_CREDENTIAL_KEY: randomBytes(32).toString('base64') },
      starved: {},
      doomed: {},
    };
    const installations = new Map<InstallationName, Installation>();
    for (const name of installationNames) {
      const installation = await install(`${directory}/${name}`, environments[name]);
      closers.push(() => installation.process.stop('SIGKILL'));
      installations.set(name, installation);
    }
    const upstream = async (label: string): Promise<Upstream> => {
      const program = createFeatureProgram({ label });
      const server = await startHttpProgram(program, { transport: 'streamable-legacy' });
      closers.push(() => server.close());
      return { url: server.url, program, close: () => server.close() };
    };
    const at = (name: InstallationName) => {
      const found = installations.get(name);
      if (found === undefined) throw new Error(`no installation ${name}`);
      return found;
    };
    return { at, postgres, upstream, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A model whose service is down: tools stay unclassified. */
export async function deadModel(): Promise<Record<string, string>> {
  return { ANTHROPIC_API_KEY: 'not-a-key', ANTHROPIC_BASE_URL: `http://127.0.0.1:${await freePort()}` };
}

async function install(dataDir: string, given: Record<string, string>): Promise<Installation> {
  const port = String(await freePort());
  const token = randomBytes(16).toString('hex');
  const env = { ...scrapable, MCP_AGGREGATOR_PORT: port, MCP_AGGREGATOR_ADMIN_TOKEN: token };
  let process = await startAggregator({ dataDir, env: { ...env, ...given } });

  async function api(method: string, path: string, body?: unknown) {
    const response = await fetch(`${process.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  }

  return {
    get process() {
      return process;
    },
    target: `127.0.0.1:${port}`,
    async restart(more) {
      await process.stop();
      process = await startAggregator({ dataDir, env: { ...env, ...given, ...more } });
    },
    api,
    call: async (name, args = {}) => (await api('POST', '/tools/call', { name, arguments: args })).status,
    async register(name, base_url, more = {}) {
      const registration = { name, transport_type: 'HTTP', connection_config: { base_url }, ...more };
      const { status, body } = await api('POST', '/aggregator/servers', registration);
      if (status !== 201) throw new Error(`registration of ${name}: ${status} ${JSON.stringify(body)}`);
      await untilConnected(api, name);
    },
  };
}

async function untilConnected(api: Installation['api'], name: string): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const { body } = await api('GET', `/aggregator/servers/${name}`);
    if ((body as { status: string }).status === 'CONNECTED') return;
    if (performance.now() > deadline) throw new Error(`${name} does not connect: ${JSON.stringify(body)}`);
    await delay(50);
  }
}

/** As many people have them: three servers of npm. */
export async function addUsualServers({ api }: Installation, directory: string): Promise<void> {
  const program = (name: string) => fileURLToPath(import.meta.resolve(`@modelcontextprotocol/${name}/dist/index.js`));
  const servers: [name: string, args: string[]][] = [
    ['everything', [program('server-everything'), 'stdio']],
    ['files', [program('server-filesystem'), directory]],
    ['memory', [program('server-memory')]],
  ];
  for (const [name, args] of servers) {
    const connection_config = { command: process.execPath, args };
    await api('POST', '/aggregator/servers', { name, transport_type: 'STDIO', connection_config });
  }
  for (const [name] of servers) await untilConnected(api, name);
}

/** An address to be asked for health, which answers as it is told. */
export async function startHealthPage() {
  let status = 200;
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    response.writeHead(status).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    get asked() {
      return asked;
    },
    answer(given: number) {
      status = given;
    },
    close: () => void server.close(),
  };
}
