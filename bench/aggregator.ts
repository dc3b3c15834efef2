import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { nodeFlags as productFlags } from '../src/cli/own-program.ts';
import { freePort } from '../test/support/ports.ts';

/** The product as users start it: a child process with a data directory of its own, spoken to over HTTP only. */
export interface Aggregator {
  url: string;
  pid: number;
  adminToken: string;
  /** Registers a server and waits until its tools are there. */
  register(name: string, connection: Connection): Promise<void>;
  /** The address of all servers' tools, or with a name, of one server with its names untouched. */
  mcpUrl(server?: string): string;
  request(method: string, path: string, body?: unknown): Promise<unknown>;
  memoryMb(): Promise<number>;
  /** The processor time that it has taken. */
  cpuMs(): Promise<number>;
  close(): Promise<void>;
}

export type Connection =
  | { transport_type: 'STDIO'; connection_config: { command: string; args?: string[] } }
  | { transport_type: 'SSE'; connection_config: { url: string } }
  | { transport_type: 'HTTP'; connection_config: { base_url: string } };

const ownCheckout = fileURLToPath(new URL('..', import.meta.url));
const api = '/api/v1/aggregator';
const startTimeoutMs = 30_000;
/** `PROFILE_DIR=<folder> npm run …` writes a CPU profile of the aggregator there when it ends. */
const profileDir = process.env.PROFILE_DIR;
const profiling = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];

export async function startAggregator(
  env: Record<string, string> = {},
  nodeFlags: readonly string[] = productFlags,
  checkout = ownCheckout,
): Promise<Aggregator> {
  const program = join(checkout, 'bin/mcp-aggregator.js');
  const dataDir = await mkdtemp(join(tmpdir(), 'aggregator-'));
  const port = await freePort();
  const adminToken = randomBytes(24).toString('base64url');
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', ...nodeFlags, ...profiling, program, 'serve'],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        MCP_AGGREGATOR_PORT: String(port),
        MCP_AGGREGATOR_DATA_DIR: dataDir,
        MCP_AGGREGATOR_ADMIN_TOKEN: adminToken,
        MCP_AGGREGATOR_ANONYMOUS: 'caller',
        ...env,
      },
    },
  );
  const url = `http://127.0.0.1:${port}`;

  async function request(method: string, path: string, body?: unknown): Promise<unknown> {
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' };
    const response = await fetch(url + path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.status === 204 ? undefined : response.json();
  }

  async function close(): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await rm(dataDir, { recursive: true, force: true });
  }

  await answering(child, `${url}${api}/health`).catch(async (error) => {
    await close();
    throw error;
  });

  return {
    url,
    adminToken,
    pid: child.pid ?? 0,
    request,
    close,
    mcpUrl: (server) => (server === undefined ? `${url}/mcp` : `${url}/mcp/servers/${server}`),
    async register(name, connection) {
      const { id } = (await request('POST', `${api}/servers`, { name, ...connection })) as { id: string };
      await until(`server ${name} is connected`, async () => {
        const server = (await request('GET', `${api}/servers/${id}`)) as { status: string; tool_count: number };
        if (server.status === 'ERROR') throw new Error(`Server ${name} failed to connect`);
        return server.status === 'CONNECTED' && server.tool_count > 0;
      });
    },
    async memoryMb() {
      const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(child.pid)]);
      return Number(stdout) / 1024;
    },
    async cpuMs() {
      // The name of the program, in parentheses, may hold spaces.
      const fields = (await readFile(`/proc/${child.pid}/stat`, 'utf8')).replace(/^.*\) /s, '').split(' ');
      return (Number(fields[11]) + Number(fields[12])) * 10;
    },
  };
}

async function answering(child: ChildProcess, healthUrl: string): Promise<void> {
  await until('the aggregator answers', async () => {
    if (child.exitCode !== null) throw new Error(`The aggregator stopped with code ${child.exitCode}`);
    const response = await fetch(healthUrl).catch(() => undefined); // refused until it listens
    return response?.ok === true;
  });
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`Gave up waiting until ${what}`);
    await sleep(50);
  }
}
