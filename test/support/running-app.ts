import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { createApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/log.ts';
import { createSecrets } from '../../src/security/secrets.ts';

export interface RunningApp {
  url: string;
  dataDir: string;
  adminToken: string;
  /** Every line that was logged. */
  lines: string[];
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Registers a server and waits until its tools are known; its id. */
  register(name: string, connection: object): Promise<string>;
  /** The next event of that name that satisfies the condition; ask before causing it. */
  event(name: string, holds?: (payload: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at answers of every shape
  json: any;
}

export const api = '/api/v1/aggregator';

/** The whole application on a port of its own, spoken to over HTTP, with its log kept. */
export async function startApp(t: TestContext, env: Record<string, string> = {}): Promise<RunningApp> {
  const dataDir = env.MCP_AGGREGATOR_DATA_DIR ?? (await mkdtemp(join(tmpdir(), 'mcp-aggregator-monitoring-')));
  const adminToken = 'an-admin-token-for-tests';
  const lines: string[] = [];
  const secrets = createSecrets();
  const log = createLog('debug', { destination: { write: (line) => lines.push(line) }, mask: secrets.mask });
  const config = loadConfig({
    PATH: process.env.PATH,
    MCP_AGGREGATOR_PORT: '0',
    MCP_AGGREGATOR_DATA_DIR: dataDir,
    MCP_AGGREGATOR_ADMIN_TOKEN: adminToken,
    ...env,
  });
  const app = await createApp(config, log, secrets);

  async function ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(app.url + path, {
      method,
      headers: {
        authorization: `Bearer ${adminToken}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined };
  }

  const heard: { name: string; payload: Record<string, unknown> }[] = [];
  const listeners = new Set<() => void>();
  const stream = httpRequest(`${app.url}${api}/events`, { headers: { authorization: `Bearer ${adminToken}` } });
  stream.on('error', () => undefined); // the application closes it
  stream.end();
  const [response] = await once(stream, 'response');
  response.on('error', () => undefined); // the same end, told here too
  let name = '';
  const eventLines = createInterface({ input: response });
  eventLines.on('error', () => undefined);
  eventLines.on('line', (line) => {
    if (line.startsWith('event: ')) name = line.slice(7);
    if (!line.startsWith('data: ')) return;
    heard.push({ name, payload: JSON.parse(line.slice(6)) });
    for (const listener of listeners) listener();
  });

  function event(wanted: string, holds: (payload: Record<string, unknown>) => boolean = () => true) {
    return eventAfter(heard.length, wanted, holds).then(({ payload }) => payload);
  }

  function eventAfter(from: number, wanted: string, holds: (payload: Record<string, unknown>) => boolean) {
    return new Promise<{ payload: Record<string, unknown>; place: number }>((resolve) => {
      const look = () => {
        const place = heard.findIndex((one, index) => index >= from && one.name === wanted && holds(one.payload));
        const found = heard[place];
        if (found === undefined) return;
        listeners.delete(look);
        resolve({ payload: found.payload, place });
      };
      listeners.add(look);
      look();
    });
  }

  let closing: Promise<void> | undefined;
  async function close() {
    stream.destroy();
    closing ??= app.close();
    await closing;
  }
  t.after(async () => {
    await close();
    await rm(dataDir, { recursive: true, force: true });
  });

  return {
    url: app.url,
    dataDir,
    adminToken,
    lines,
    ask,
    event,
    close,
    async register(server, connection) {
      // Lists show what was discovered once everything of the server was.
      const listed = eventAfter(heard.length, 'server.discovered', (payload) => payload.name === server).then(
        ({ place }) => eventAfter(place, 'catalog.changed', () => true),
      );
      const { status, json, text } = await ask('POST', `${api}/servers`, { name: server, ...connection });
      if (status !== 201) throw new Error(`Registration failed: ${text}`);
      await listed;
      return json.id;
    },
  };
}
