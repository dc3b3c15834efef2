import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modernRequest } from '../support/modern-request.ts';
import { api, type RunningApp, startApp } from '../support/running-app.ts';
import { startFeatureServer } from '../support/servers/feature-server.ts';

const accept = 'application/json, text/event-stream';
const client = '198.51.100.7';

/** One call over each face, as a proxy on this machine passes it on. */
async function callEverywhere(app: RunningApp): Promise<void> {
  const proxied = { 'x-forwarded-for': `1.1.1.1, ${client}` };
  await app.ask('POST', '/api/v1/tools/call', { name: 'web.echo', arguments: {} }, proxied);

  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: hello };
  const opened = await app.ask('POST', '/mcp', initialize, { accept, ...proxied });
  const session = { accept, 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '', ...proxied };
  const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'web__echo', arguments: {} } };
  assert.equal((await app.ask('POST', '/mcp', call, session)).status, 200);

  const { message, headers } = modernRequest(call.method, call.params);
  assert.equal((await app.ask('POST', '/mcp', message, { accept, ...headers, ...proxied })).status, 200);
}

for (const [proxies, expected] of [
  ['loopback', client],
  ['', '127.0.0.1'],
  ['10.0.0.0/8', '127.0.0.1'],
] as const) {
  test(`with TRUSTED_PROXIES=${proxies} every face takes ${expected} for the client, in the audit and the log`, async (t) => {
    const upstream = await startFeatureServer({ transport: 'streamable-modern' });
    t.after(() => upstream.close());
    const app = await startApp(t, { MCP_AGGREGATOR_TRUSTED_PROXIES: proxies });
    await app.register('web', { transport_type: 'HTTP', connection_config: { base_url: upstream.url } });
    await callEverywhere(app);

    const { json } = await app.ask('GET', `${api}/audit?event=tool.called`);
    const addresses = json.audit.map((record: { ip_address: string }) => record.ip_address);
    assert.deepEqual(addresses, [expected, expected, expected]);
    await app.close();
    const lines = app.lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');
    const ofCalls = lines.filter(({ path }) => path === '/mcp' || path === '/api/v1/tools/call');
    assert.deepEqual(
      ofCalls.map(({ ip }) => ip),
      ofCalls.map(() => expected),
    );
    assert.equal(ofCalls.length, 4);
  });
}
