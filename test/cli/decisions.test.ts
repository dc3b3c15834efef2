import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, type TestContext, test } from 'node:test';
import { toTyped } from '../../src/cli/commands/call.ts';
import { checkNode } from '../../src/cli/commands/doctor.ts';
import { toTime } from '../../src/cli/commands/token.ts';
import { exitOfStatus } from '../../src/cli/exit-code.ts';
import { saveSignIn } from '../../src/cli/sign-ins.ts';
import { resolveTarget } from '../../src/cli/target.ts';
import { formatTable, withoutControls } from '../../src/cli/terminal.ts';
import { proveIdentity } from '../../src/security/identity.ts';

/** Answers the question for its identity as it is told, on a port of its own. */
async function listen(t: TestContext, answer: (asked: { nonce: string; port: number }) => string): Promise<string> {
  const server = createServer(async (request, response) => {
    const { nonce } = JSON.parse(await text(request));
    response.end(JSON.stringify({ proof: answer({ nonce, port: request.socket.localPort ?? 0 }) }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const dataDir = mkdtempSync(join(tmpdir(), 'target-'));
after(() => rmSync(dataDir, { recursive: true, force: true }));

test('the address: flag, variable, host and port, what the aggregator wrote, default', () => {
  const url = (flags: { url?: string }, env: Record<string, string> = {}) =>
    resolveTarget({ ...flags, dataDir }, env).url;
  assert.equal(url({}), 'http://127.0.0.1:8081');
  writeFileSync(join(dataDir, 'address.json'), JSON.stringify({ url: 'http://0.0.0.0:9', pid: process.pid }));
  assert.equal(url({}), 'http://127.0.0.1:9');
  assert.equal(url({}, { MCP_AGGREGATOR_PORT: '0' }), 'http://127.0.0.1:9');
  assert.equal(url({}, { MCP_AGGREGATOR_PORT: '7' }), 'http://127.0.0.1:7');
  assert.equal(url({}, { MCP_AGGREGATOR_HOST: '::', MCP_AGGREGATOR_PORT: '7' }), 'http://[::1]:7');
  assert.equal(url({}, { MCP_AGGREGATOR_PORT: '7', MCP_AGGREGATOR_URL: 'https://a.example/' }), 'https://a.example');
  assert.equal(url({ url: 'http://b.example' }, { MCP_AGGREGATOR_URL: 'https://a.example' }), 'http://b.example');
});

test('the token in the data directory goes to the aggregator of the directory only', async (t) => {
  writeFileSync(join(dataDir, 'admin-token'), 'local-secret\n');
  writeFileSync(join(dataDir, 'identity-key'), 'the-key\n');
  const owner = await listen(t, ({ nonce, port }) => proveIdentity('the-key', { nonce, port }));
  const relay = await listen(t, ({ nonce }) => proveIdentity('the-key', { nonce, port: Number(new URL(owner).port) }));
  const stranger = await listen(t, () => 'no proof');
  const token = (url: string, env: Record<string, string> = {}) => resolveTarget({ dataDir, url }, env).token();
  assert.equal(await token(owner), 'local-secret');
  assert.equal(await token('http://localhost:1'), undefined, 'where nobody listens');
  for (const url of [stranger, relay]) await assert.rejects(token(url), /is not the aggregator of .* was not sent/);
  assert.equal(await token('https://a.example'), undefined);
  assert.equal(await token('https://a.example', { MCP_AGGREGATOR_TOKEN: 't', MCP_AGGREGATOR_ADMIN_TOKEN: 'a' }), 't');
  assert.equal(await resolveTarget({ dataDir, token: 'f' }, { MCP_AGGREGATOR_TOKEN: 't' }).token(), 'f');
});

test('a sign-in is for its own address, before the token of the data directory and after what is given', async () => {
  writeFileSync(join(dataDir, 'admin-token'), 'local-secret\n');
  const signedIn = {
    issuer: { issuer: 'https://login.example.com' },
    client_id: 'cli',
    resource: 'https://a.example',
    expires_at: null,
    refresh_at: null,
  };
  await saveSignIn(dataDir, 'https://a.example/', { ...signedIn, access_token: 'a' });
  await saveSignIn(dataDir, 'http://127.0.0.1:1', { ...signedIn, access_token: 'here' });
  const token = (url: string, env: Record<string, string> = {}) => resolveTarget({ dataDir, url }, env).token();
  assert.equal(await token('https://A.example'), 'a');
  assert.equal(await token('https://a.example:8443'), undefined);
  assert.equal(await token('http://127.0.0.1:1'), 'here');
  assert.equal(await token('https://a.example', { MCP_AGGREGATOR_TOKEN: 't' }), 't');

  const over = new Date(0).toISOString();
  await saveSignIn(dataDir, 'https://a.example', {
    ...signedIn,
    access_token: 'a',
    expires_at: over,
    refresh_at: over,
  });
  await assert.rejects(token('https://a.example'), /has expired/);
  await saveSignIn(dataDir, 'https://a.example', undefined);
  assert.equal(await token('https://a.example'), undefined);
});

test('pairs become what the schema says, otherwise what they look like', () => {
  const schema = { properties: { id: { type: 'string' }, count: { type: 'number' } } };
  const pairs = { id: '007', count: '7', on: 'true', list: '[1,2]', text: 'a=b', odd: '{x', empty: '' };
  assert.deepEqual(toTyped(pairs, schema), {
    id: '007',
    count: 7,
    on: true,
    list: [1, 2],
    text: 'a=b',
    odd: '{x',
    empty: '',
  });
});

test('spans and times', () => {
  assert.equal(toTime('90m', 0), '1970-01-01T01:30:00.000Z');
  assert.equal(toTime('30d', 0), '1970-01-31T00:00:00.000Z');
  assert.equal(toTime('2027-01-31T00:00:00Z', 0), '2027-01-31T00:00:00.000Z');
  assert.throws(() => toTime('soon', 0), /"soon" is not a valid time/);
});

test('tables are aligned, colours do not count, the last column is cut to the terminal', () => {
  const rows = [
    ['A', 'BB', 'text'],
    ['\u001b[32mlonger\u001b[39m', 'b', 'one\n two that is much longer than it may be'],
  ];
  const [head, line] = formatTable(rows, 32);
  assert.equal(head, 'A       BB  text');
  assert.equal(line, '\u001b[32mlonger\u001b[39m  b   one two that is muc…');
});

test('exit codes follow the HTTP status', () => {
  const exits = [400, 401, 403, 404, 409, 422, 500, 502, 503, 504].map(exitOfStatus);
  assert.deepEqual(exits, [
    ...['usage', 'denied', 'denied', 'notFound', 'conflict', 'usage'],
    ...['failed', 'failed', 'unreachable', 'unreachable'],
  ]);
});

test('doctor knows which Node is too old', () => {
  assert.equal(checkNode('22.18.0').verdict, 'ok');
  assert.equal(checkNode('24.1.0').verdict, 'ok');
  assert.equal(checkNode('22.12.0').verdict, 'problem');
  assert.equal(checkNode('20.19.0').verdict, 'problem');
});

test('text of servers cannot steer the terminal', () => {
  const text = 'a\u001b]0;title\u0007b\u001b[2Jc\rd\u009b2J\u001b[32mgreen\u001b[39m\n\ttab';
  assert.equal(withoutControls(text), 'a]0;titleb[2Jcd2J\u001b[32mgreen\u001b[39m\n\ttab');
});
