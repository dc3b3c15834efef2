/** Whatever is sent, the endpoint answers with a correct error or a correct answer, and lives. Seeded: a failure can be repeated. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { startApp, type TestApp } from '../support/app.ts';
import { startFeatureServer } from '../support/servers/feature-server.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';
import { open, openSession, type RawSession } from './clients.ts';
import { createRandom, pick, type Random, randomJson, randomObject } from './random-json.ts';

const rounds = 400;
const maxBodyBytes = 65_536;

let app: TestApp;
let server: RunningServer;
let session: RawSession;
const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);

before(async () => {
  process.on('unhandledRejection', note);
  app = await startApp({ MCP_AGGREGATOR_MAX_BODY_BYTES: String(maxBodyBytes), MCP_AGGREGATOR_REQUEST_TIMEOUT: '2' });
  server = await startFeatureServer({ transport: 'streamable-legacy', label: 'fuzz' });
  await app.add('s', { base_url: server.url });
  session = await openSession(app);
});
after(async () => {
  process.off('unhandledRejection', note);
  await app.close();
  await server.close();
});

const methods = [
  ...['initialize', 'ping', 'tools/list', 'tools/call', 'prompts/list', 'prompts/get', 'resources/list'],
  ...['resources/read', 'resources/subscribe', 'resources/unsubscribe', 'resources/templates/list'],
  ...['completion/complete', 'logging/setLevel', 'server/discover', 'tasks/get', 'tasks/cancel', 'tasks/update'],
  ...['notifications/cancelled', 'notifications/initialized', 'sampling/createMessage', '', '__proto__', 'toString'],
];
const versions = ['2026-07-28', '2025-11-25', '2025-06-18', '2024-11-05', '1999-01-01', '', 'x'.repeat(500)];
const names = [
  's__add',
  's.add',
  'add',
  'call_tool',
  'describe_tools',
  'search_tools',
  '',
  'nobody',
  '__proto__',
  '💥',
];

suite('the endpoint survives', () => {
  test('valid JSON-RPC with nonsense in it', async () => {
    const random = createRandom(71);
    for (let round = 0; round < rounds; round += 1) await expectCorrect(garbageMessage(random), garbageHeaders(random));
  });

  test('JSON that is no JSON-RPC', async () => {
    const random = createRandom(72);
    for (let round = 0; round < rounds / 2; round += 1) await expectCorrect(randomJson(random), garbageHeaders(random));
  });

  test('bodies that are no JSON', async () => {
    const random = createRandom(73);
    for (let round = 0; round < rounds / 2; round += 1) {
      const text = JSON.stringify(garbageMessage(random));
      const cut = Math.floor(random() * text.length);
      const broken = pick(random, [text.slice(0, cut), `${text}}`, text.slice(cut), `\u0000${text}`, '', '﻿{}']);
      await expectCorrect(broken, garbageHeaders(random));
    }
  });

  test('bodies that are too large', async () => {
    const params = { name: 's__echo', arguments: { text: 'x'.repeat(maxBodyBytes) } };
    const response = await open(app, 'POST', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, session);
    assert.equal(response.status, 413);
    await expectError(response);
    const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
    await expectCorrect(deep, {});
    await expectCorrect(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__echo","arguments":{"a":${deep}}}}`,
      session.headers,
    );
  });

  test('wrong content types, sessions and paths', async () => {
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', '']) {
      const response = await open(app, 'POST', JSON.stringify(ping), { headers: { 'content-type': type } });
      assert.equal(response.status, 415, type);
      await expectError(response);
    }
    for (const id of ['../../etc', 'a b', '0', session.id.toUpperCase(), `${session.id}0`]) {
      const response = await open(app, 'POST', ping, { headers: { 'mcp-session-id': id } });
      assert.equal(response.status, 404, id);
      await expectError(response);
    }
    for (const path of [
      '/mcp/servers/nobody',
      '/mcp/profiles/nobody',
      '/mcp/servers/%ff',
      '/messages',
      '/messages?sessionId=x',
    ]) {
      const response = await open(app, 'POST', { ...ping, method: 'initialize' }, { path });
      assert.equal(response.status, 404, path);
      await expectError(response);
    }
    for (const id of ['x', '-', '1-', '-1', '99999999-1', '__proto__-1', '1-1-1']) {
      const ended = new AbortController();
      const headers = { ...session.headers, 'last-event-id': id };
      const response = await open(app, 'GET', undefined, { headers, signal: ended.signal });
      assert.ok([200, 400, 404].includes(response.status));
      ended.abort();
    }
  });

  test('requests that are cut off', async () => {
    const { hostname, port } = new URL(app.url);
    const head = `POST /mcp HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${app.adminToken}\r\ncontent-type: application/json\r\n`;
    for (const text of [
      head,
      `${head}content-length: 100\r\n\r\n{"json`,
      `${head}transfer-encoding: chunked\r\n\r\nzz\r\n`,
    ]) {
      const socket = connect(Number(port), hostname, () => socket.end(text));
      socket.setTimeout(10_000, () => socket.destroy(new Error('no answer')));
      assert.match(await readText(socket), /^HTTP\/1\.1 400 /, text);
    }
  });

  test('and still works afterwards, with nothing unhandled', async () => {
    const { body } = await session.request('tools/call', { name: 's__add', arguments: { a: 20, b: 22 } });
    assert.deepEqual(body.result.structuredContent, { sum: 42 });
    assert.deepEqual(unhandled, []);
    assert.deepEqual(
      app.log.filter((line) => /"level":"error"/.test(line)),
      [],
    );
  });
});

function garbageMessage(random: Random): Record<string, unknown> {
  const meta = {
    ...(random() < 0.5 ? { 'io.modelcontextprotocol/protocolVersion': pick(random, versions) } : {}),
    ...(random() < 0.5 ? { 'io.modelcontextprotocol/clientCapabilities': randomJson(random) } : {}),
    ...(random() < 0.2 ? { progressToken: randomJson(random) } : {}),
  };
  const sensible = {
    name: pick(random, names),
    uri: pick(random, ['fixture://static', 'fixture://item/1', '', 'mcp-aggregator://', 'mcp-aggregator://s/x']),
    arguments: random() < 0.5 ? randomObject(random) : randomJson(random),
    ref: {
      type: pick(random, ['ref/prompt', 'ref/resource', 'x']),
      name: pick(random, names),
      uri: randomJson(random),
    },
    protocolVersion: pick(random, versions),
    level: randomJson(random),
    cursor: random() < 0.2 ? randomJson(random) : undefined,
    requestState: random() < 0.2 ? randomJson(random) : undefined,
    inputResponses: random() < 0.2 ? randomJson(random) : undefined,
    requestId: randomJson(random),
    taskId: randomJson(random),
  };
  const params =
    random() < 0.2
      ? randomJson(random)
      : { ...randomObject(random), ...sensible, _meta: random() < 0.9 ? meta : randomJson(random) };
  return {
    jsonrpc: random() < 0.95 ? '2.0' : randomJson(random),
    method: random() < 0.95 ? pick(random, methods) : randomJson(random),
    ...(random() < 0.9 ? { id: random() < 0.8 ? Math.floor(random() * 10) : randomJson(random) } : {}),
    params,
    ...(random() < 0.1 ? { result: randomJson(random) } : {}),
    ...(random() < 0.1 ? { error: randomJson(random) } : {}),
  };
}

function garbageHeaders(random: Random): Record<string, string> {
  return {
    ...(random() < 0.6 ? { 'mcp-session-id': random() < 0.8 ? session.id : 'unknown' } : {}),
    ...(random() < 0.5 ? { 'mcp-protocol-version': pick(random, versions) } : {}),
    ...(random() < 0.3 ? { 'mcp-method': pick(random, methods) || 'x' } : {}),
    ...(random() < 0.3 ? { 'mcp-name': pick(random, ['s__add', '=?base64?!!?=', '=?base64?cw==?=', 'x']) } : {}),
    ...(random() < 0.2 ? { accept: pick(random, ['text/event-stream', 'application/json', 'text/html', '*/*']) } : {}),
  };
}

async function expectCorrect(body: unknown, headers: Record<string, string>): Promise<void> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await open(app, 'POST', text, { headers, signal: AbortSignal.timeout(10_000) });
  const where = `${response.status} for ${text.slice(0, 500)} with ${JSON.stringify(headers)}`;
  assert.ok(response.status < 500, where);
  const type = response.headers.get('content-type') ?? '';
  const content = await response.text();
  if (response.status === 202) return assert.equal(content, '', where);
  const messages = type.startsWith('text/event-stream')
    ? content
        .split('\n')
        .filter((line) => line.startsWith('data: {'))
        .map((line) => JSON.parse(line.slice(6)))
    : [JSON.parse(content)].flat();
  assert.ok(messages.length > 0, where);
  for (const message of messages) {
    assert.equal(message.jsonrpc, '2.0', where);
    if (message.method !== undefined) continue;
    const isAnswer = message.result !== undefined || Number.isInteger(message.error?.code);
    assert.ok(isAnswer && 'id' in message, `${where}: ${JSON.stringify(message)}`);
    if (response.status !== 200) assert.ok(message.error, where);
    assert.doesNotMatch(JSON.stringify(message), /Internal error in the aggregator/, where);
  }
}

async function expectError(response: Response): Promise<void> {
  const { jsonrpc, error } = (await response.json()) as { jsonrpc: string; error: { code: number; message: string } };
  assert.equal(jsonrpc, '2.0');
  assert.ok(Number.isInteger(error.code) && typeof error.message === 'string');
}
