/** Nearly right messages without end to a real aggregator, and nearly right answers from a server behind it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type Aggregator, startAggregator } from '../../bench/aggregator.ts';
import { stdioFeatureServer } from '../../test/support/servers/feature-server.ts';
import { properResult, type Request } from '../attack/hostile-json.ts';
import { createRandom } from '../chaos/random.ts';
import { createMessages, type Message, type OpenApi } from './messages.ts';
import { createValues, type Json, type Values } from './values.ts';

export interface FuzzReport {
  messages: number;
  /** By kind and status. */
  answers: Map<string, number>;
  /** Requests that a 500 answered, or that were not answered. */
  faults: string[];
  memoryMb: { first: number; last: number };
}

export interface FuzzOptions {
  messages: number;
  seed: number;
  onProgress?(sent: number): void;
}

const atOnce = 16;
const answerTimeoutMs = 20_000;
/** The rest are like them. */
const maxFaults = 50;

export async function runFuzz({ messages, seed, onProgress }: FuzzOptions): Promise<FuzzReport> {
  const random = createRandom(seed);
  const values = createValues(random);
  const aggregator = await startAggregator({ MCP_AGGREGATOR_LOG_LEVEL: 'silent', MCP_AGGREGATOR_MAX_SERVERS: '50' });
  const upstream = await startOddServer(values);
  try {
    await aggregator.register('good', { transport_type: 'STDIO', connection_config: stdioFeatureServer('legacy') });
    const odd = { name: 'odd', transport_type: 'HTTP', connection_config: { base_url: upstream.url } };
    await aggregator.request('POST', '/api/v1/aggregator/servers', odd);
    const document = (await aggregator.request('GET', '/openapi.json')) as OpenApi;
    const backup = (await aggregator.request('GET', '/api/v1/aggregator/backup')) as Json;
    let session = await openSession(aggregator);
    const source = createMessages(random, values, { document, backup, session: () => session });
    const report: FuzzReport = { messages: 0, answers: new Map(), faults: [], memoryMb: { first: 0, last: 0 } };
    const work = async (): Promise<void> => {
      while (report.messages < messages && report.faults.length < maxFaults) {
        report.messages += 1;
        if (report.messages === Math.ceil(messages / 3)) report.memoryMb.first = await aggregator.memoryMb();
        if (report.messages % 10_000 === 0) onProgress?.(report.messages);
        await send(aggregator, source.next(), report);
        // A message may have ended it.
        if (report.messages % 500 === 0) session = await openSession(aggregator);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    report.memoryMb.last = await aggregator.memoryMb();
    return report;
  } finally {
    await aggregator.close();
    upstream.close();
  }
}

async function openSession(aggregator: Aggregator): Promise<string> {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'fuzz', version: '1' } };
  const response = await fetch(aggregator.mcpUrl(), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${aggregator.adminToken}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
  });
  await response.text();
  return response.headers.get('mcp-session-id') ?? '';
}

async function send(aggregator: Aggregator, message: Message, report: FuzzReport): Promise<void> {
  const { kind, method, path, headers, body } = message;
  const fault = (what: string): void =>
    void report.faults.push(`${what}: ${method} ${path.slice(0, 200)} ${(body ?? '').slice(0, 20_000)}`);
  const signal = AbortSignal.timeout(answerTimeoutMs);
  try {
    const authorization = `Bearer ${aggregator.adminToken}`;
    const response = await fetch(aggregator.url + path, {
      method,
      headers: { authorization, ...headers },
      body: body ?? null,
      signal,
      redirect: 'manual',
    });
    const key = `${kind} ${response.status}`;
    report.answers.set(key, (report.answers.get(key) ?? 0) + 1);
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    // A stream may stay open for good; it was answered.
    if (isStream) await response.body?.cancel();
    else if (response.status === 500) fault(`500 ${(await response.text()).slice(0, 200)}`);
    else await response.arrayBuffer();
  } catch (error) {
    fault(`no answer (${error instanceof Error ? error.message : error})`);
  }
}

/** Its answers are proper ones, bent. */
async function startOddServer(values: Values): Promise<{ url: string; close(): void }> {
  let answers = 0;
  const server = createServer((incoming, response) => {
    if (incoming.method !== 'POST') return void response.writeHead(405).end();
    void json(incoming).then(
      (body) => {
        const request = body as Request;
        if (request.id === undefined) return void response.writeHead(202).end();
        const proper = { jsonrpc: '2.0', id: request.id, result: properResult(request) } as Json;
        // Now and then everything is right, so that it is connected and called.
        answers += 1;
        const answer = answers % 3 === 0 ? values.bend(proper) : proper;
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      },
      () => response.destroy(),
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
