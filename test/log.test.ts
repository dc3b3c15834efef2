import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog, toText } from '../src/log.ts';
import { createSecrets } from '../src/security/secrets.ts';
import { startApp } from './support/running-app.ts';
import { startFeatureServer } from './support/servers/feature-server.ts';

const parsed = (lines: readonly string[]) => lines.map((line) => JSON.parse(line));

test('one JSON line per request: its id, who asked, which server, how long it took', async (t) => {
  const upstream = await startFeatureServer({ transport: 'streamable-modern' });
  t.after(() => upstream.close());
  const app = await startApp(t);
  await app.register('web', { transport_type: 'HTTP', connection_config: { base_url: upstream.url } });
  const body = { name: 'web.rpc_error', arguments: {} };
  const answer = await app.ask('POST', '/api/v1/tools/call?x=secret-in-query', body, { 'x-request-id': 'req-42' });
  assert.equal(answer.headers.get('x-request-id'), 'req-42');

  const lines = parsed(app.lines).filter((line) => line.request_id === 'req-42');
  assert.deepEqual(lines.map((line) => [line.level, line.msg]).sort(), [
    ['info', 'request'],
    ['warn', 'tool call'],
  ]);
  const call = lines.find((line) => line.msg === 'tool call');
  assert.deepEqual(
    { principal: call.principal, server: call.server, tool: call.tool, outcome: call.outcome },
    { principal: 'admin', server: 'web', tool: 'web.rpc_error', outcome: 'rpc_error' },
  );
  const request = lines.find((line) => line.msg === 'request');
  assert.deepEqual(
    { method: request.method, path: request.path, status: request.status, server: request.server },
    { method: 'POST', path: '/api/v1/tools/call', status: 502, server: 'web' },
  );
  assert.equal(request.principal, 'admin');
  assert.ok(request.duration_ms > 0 && call.duration_ms > 0);
  for (const line of parsed(app.lines)) assert.ok(Date.parse(line.time) > 0 && line.level && line.msg);
});

test('a request id that could forge a line is replaced; probes are logged for debugging only', async (t) => {
  const app = await startApp(t);
  const health = '/api/v1/aggregator/health';
  for (const bad of ['a b', 'x'.repeat(129), '{"level":"fatal"}', '']) {
    const { headers } = await app.ask('GET', health, undefined, { 'x-request-id': bad });
    assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f]{32}$/);
  }
  const probes = parsed(app.lines).filter((line) => line.path === health);
  assert.deepEqual([...new Set(probes.map((line) => line.level))], ['debug']);
  const missing = await app.ask('GET', '/nowhere');
  const line = parsed(app.lines).find((one) => one.request_id === missing.headers.get('x-request-id'));
  assert.equal(line.error_code, 'NOT_FOUND');
});

test('values are hidden by path, and known secrets wherever they stand', () => {
  const lines: string[] = [];
  const secrets = createSecrets();
  const log = createLog('info', { destination: { write: (line) => lines.push(line) }, mask: secrets.mask });
  secrets.learn('server', ['hunter2hunter2', 'short']);
  log.info({ headers: { a: 'by-path-1' }, deep: { er: { env: { KEY: 'by-path-2' }, token: 'by-path-3' } } }, 'shown');
  log.error({ err: new Error('refused hunter2hunter2', { cause: new Error('hunter2hunter2') }) }, 'hunter2hunter2');
  const text = lines.join('');
  assert.doesNotMatch(text, /by-path|hunter2/);
  assert.match(text, /refused \*\*\*/);
  secrets.forget('server');
  assert.equal(secrets.mask('hunter2hunter2'), 'hunter2hunter2');
});

test('on a terminal an event is a line that people can read, and cannot be forged', () => {
  const line = (fields: object) => JSON.stringify({ level: 'warn', time: '2026-01-02T03:04:05.678Z', ...fields });
  assert.equal(
    toText(line({ server: 'github', reason: 'no answer', failures: 2, msg: 'health check' })),
    '03:04:05.678 WARN  health check  server=github  reason="no answer"  failures=2\n',
  );
  assert.equal(toText(line({ msg: 'a\rb\x1b[2J', note: 'x\ny' })), '03:04:05.678 WARN  a�b�[2J  note="x\\ny"\n');
  assert.match(
    toText(line({ msg: 'failed', err: { stack: 'Error: x\n    at y' } })),
    /failed\n {2}Error: x\n {6}at y\n$/,
  );
});
