/** Users of both eras and of REST who call at a steady rate through a load balancer and never send anything twice. */
import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { modernRequest } from '../../test/support/modern-request.ts';
import type { Random } from './random.ts';

export const surfaces = ['MCP, legacy sessions', 'MCP, 2026-07-28', 'REST'] as const;
export type Surface = (typeof surfaces)[number];

export interface SurfaceTally {
  calls: number;
  failures: string[];
  timesMs: number[];
}

export interface RollingLoad {
  readonly tallies: ReadonlyMap<Surface, SurfaceTally>;
  /** How often a stream of a legacy session was opened again. */
  readonly streamsReopened: number;
  /** The texts of all calls. */
  readonly sent: ReadonlySet<string>;
  stop(): Promise<void>;
}

export interface RollingLoadOptions {
  url: string;
  tokens: readonly string[];
  /** Names of servers with the tools `echo` and `slow`. */
  servers: readonly string[];
  /** Of all surfaces together. */
  callsPerSecond: number;
  random: Random;
}

interface User {
  token: string;
  agent: Agent;
  session: string;
  isStreamOpen: boolean;
}

const lostAfterMs = 60_000;
/** One call of ten is still under way when a replica begins to drain. */
const slowShare = 0.1;
const maxSlowMs = 2_000;
const protocolVersion = '2025-11-25';

export async function startRollingLoad(options: RollingLoadOptions): Promise<RollingLoad> {
  const { url, tokens, servers, callsPerSecond, random } = options;
  const tallies = new Map(
    surfaces.map((surface) => [surface, { calls: 0, failures: [], timesMs: [] } as SurfaceTally]),
  );
  const sent = new Set<string>();
  const stopped = new AbortController();
  const calls = new Set<Promise<void>>();
  const users: User[] = tokens.map((token) => ({
    token,
    agent: new Agent({ keepAlive: true }),
    session: '',
    isStreamOpen: false,
  }));
  let streamsReopened = 0;

  async function run(): Promise<void> {
    const started = performance.now();
    for (let number = 0; !stopped.signal.aborted; number += 1) {
      const call = one(number).finally(() => calls.delete(call));
      calls.add(call);
      const wait = started + ((number + 1) * 1_000) / callsPerSecond - performance.now();
      if (wait > 0) await delay(wait, undefined, { signal: stopped.signal }).catch(() => undefined); // stopped
    }
  }

  async function one(number: number): Promise<void> {
    const surface = surfaces[number % surfaces.length] ?? 'REST';
    const user = random.pick(users);
    const server = random.pick(servers);
    const payload = `call-${number}-${Math.floor(random() * 1e9)}`;
    const slowMs = random() < slowShare ? Math.ceil(random() * maxSlowMs) : undefined;
    const call =
      slowMs === undefined
        ? { tool: 'echo', args: { text: payload } }
        : { tool: 'slow', args: { ms: slowMs, text: payload } };
    const tally = tallies.get(surface);
    if (tally === undefined) throw new Error(`no tally for ${surface}`);
    tally.calls += 1;
    sent.add(payload);
    const startedAt = performance.now();
    try {
      const answered = await ways[surface](user, server, call, number + 1);
      const expected = slowMs === undefined ? payload : `waited ${slowMs} ms`;
      if (!answered.includes(expected)) throw new Error(`answered with ${answered.slice(0, 300)}`);
    } catch (error) {
      const after = Math.round(performance.now() - startedAt);
      tally.failures.push(
        `${new Date().toISOString()} ${surface}, ${server}.${call.tool}, ${payload}, after ${after} ms: ${error}`,
      );
    }
    tally.timesMs.push(performance.now() - startedAt - (slowMs ?? 0));
  }

  const ways: Record<Surface, (user: User, server: string, call: Call, id: number) => Promise<string>> = {
    async REST(user, server, { tool, args }) {
      const { status, text } = await send(user, 'POST', '/api/v1/tools/call', {
        name: `${server}.${tool}`,
        arguments: args,
      });
      if (status !== 200) throw new Error(`HTTP ${status} ${text.slice(0, 300)}`);
      return text;
    },
    async 'MCP, 2026-07-28'(user, server, { tool, args }, id) {
      const { message, headers } = modernRequest('tools/call', { name: `${server}__${tool}`, arguments: args }, { id });
      return resultIn(await send(user, 'POST', '/mcp', message, headers), id);
    },
    async 'MCP, legacy sessions'(user, server, { tool, args }, id) {
      const message = {
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name: `${server}__${tool}`, arguments: args },
      };
      return resultIn(await send(user, 'POST', '/mcp', message, sessionHeaders(user)), id);
    },
  };

  async function initialize(user: User): Promise<void> {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'rolling', version: '1' } };
    const answer = await send(user, 'POST', '/mcp', { jsonrpc: '2.0', id: 0, method: 'initialize', params });
    user.session = String(answer.headers['mcp-session-id'] ?? '');
    if (user.session === '') throw new Error(`initialize: ${answer.status} ${answer.text}`);
    await send(user, 'POST', '/mcp', { jsonrpc: '2.0', method: 'notifications/initialized' }, sessionHeaders(user));
  }

  /** As clients do: a stream that ends is opened again, after a moment. */
  async function keepStream(user: User): Promise<void> {
    for (let opened = 0; !stopped.signal.aborted; opened += 1) {
      if (opened > 0) streamsReopened += 1;
      await listen(user);
      await delay(200, undefined, { signal: stopped.signal }).catch(() => undefined); // stopped
    }
  }

  function listen(user: User): Promise<void> {
    return new Promise((resolve) => {
      const headers = { ...headersOf(user), ...sessionHeaders(user), accept: 'text/event-stream' };
      const asked = requestHttp(new URL('/mcp', url), { headers, agent: false });
      const end = () => asked.destroy();
      stopped.signal.addEventListener('abort', end, { once: true });
      asked.on('response', (answer) => {
        answer.resume();
        if (answer.statusCode === 404) throw new Error('a session was forgotten');
      });
      asked.on('error', () => undefined); // 'close' follows
      asked.on('close', () => {
        stopped.signal.removeEventListener('abort', end);
        resolve();
      });
      asked.end();
    });
  }

  function send(
    user: User,
    method: string,
    path: string,
    body: unknown,
    more: Record<string, string> = {},
  ): Promise<Received> {
    return new Promise((resolve, reject) => {
      const json = JSON.stringify(body);
      const headers = {
        ...headersOf(user),
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(json)),
        ...more,
      };
      const signal = AbortSignal.timeout(lostAfterMs);
      const asked: ClientRequest = requestHttp(new URL(path, url), { method, headers, agent: user.agent, signal });
      asked.on('response', (answer: IncomingMessage) => {
        const { statusCode: status = 0, headers: received } = answer;
        readText(answer).then((text) => resolve({ status, headers: received, text }), reject);
      });
      asked.on('error', reject);
      asked.end(json);
    });
  }

  for (const user of users) await initialize(user);
  const streams = users.map((user) => keepStream(user));
  const running = run();
  return {
    tallies,
    sent,
    get streamsReopened() {
      return streamsReopened;
    },
    async stop() {
      stopped.abort();
      await running;
      await Promise.all([...calls, ...streams]);
      for (const { agent } of users) agent.destroy();
    },
  };
}

interface Call {
  tool: string;
  args: Record<string, unknown>;
}

interface Received {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
}

const headersOf = ({ token }: User) => ({
  authorization: `Bearer ${token}`,
  accept: 'application/json, text/event-stream',
});

const sessionHeaders = ({ session }: User) => ({ 'mcp-session-id': session, 'mcp-protocol-version': protocolVersion });

/** The result of the request, as text, however it was sent. */
function resultIn({ status, headers, text }: Received, id: number): string {
  const isStream = headers['content-type']?.startsWith('text/event-stream') === true;
  const messages = isStream
    ? [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data))
    : [parsed(text)];
  const answers = messages.filter((message) => message?.id === id);
  const [answer] = answers;
  if (status !== 200 || answers.length !== 1 || answer.result === undefined || answer.result.isError === true)
    throw new Error(`HTTP ${status} ${text.slice(0, 300)}`);
  return JSON.stringify(answer.result);
}

function parsed(text: string) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the page of a load balancer
  }
}
