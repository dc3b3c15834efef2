/** Servers that speak both eras: clients of the old one meet them in the old one. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { answering, connectClient, everyCapability } from '../mcp/clients.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';
import { RpcError } from '../support/servers/json-rpc.ts';
import { createProgram, log } from '../support/servers/program.ts';

const form = { mode: 'form', message: 'Who?', requestedSchema: { type: 'object', properties: {} } };

/** As servers of the SDK do: a tool that asks by a request cannot do so in a call of the new era. */
const program = (name: string) =>
  createProgram({
    info: { name, version: '1' },
    tools: [
      {
        definition: { name: 'greet', inputSchema: { type: 'object' } },
        async call(exchange) {
          if (exchange.era === 'modern') throw new RpcError(-32600, 'elicitation is not supported by this revision');
          const { who } = await exchange.ask({ who: { method: 'elicitation/create', params: form } });
          return { content: [{ type: 'text', text: JSON.stringify(who) }] };
        },
      },
      {
        definition: { name: 'talk', inputSchema: { type: 'object' } },
        call(exchange) {
          log(exchange, 'info', 'talking');
          return { content: [] };
        },
      },
      {
        definition: { name: 'era', inputSchema: { type: 'object' } },
        call: ({ era }) => ({ content: [{ type: 'text', text: era }] }),
      },
    ],
  });

suite('a server that speaks both eras', () => {
  let app: TestApp;
  const running: RunningServer[] = [];
  before(async () => {
    app = await startApp();
    for (const transport of ['streamable-dual', 'streamable-modern'] as const) {
      const server = await startHttpProgram(program(transport), { transport });
      running.push(server);
      await app.add(transport, { base_url: server.url });
      assert.equal((await app.server(transport)).era, 'modern');
    }
  });
  after(async () => {
    await app.close();
    for (const server of running) await server.close();
  });

  const textOf = ({ content }: { content?: unknown }) => (content as { text: string }[])[0]?.text;

  for (const path of ['/mcp', '/mcp/servers/streamable-dual']) {
    test(`MCP-001: asks clients of the old era in the old way, at ${path}`, async () => {
      const names = path === '/mcp' ? 'streamable-dual__' : '';
      for (const name of ['Ada', 'Bob']) {
        const client = await connectClient(app, { path, capabilities: everyCapability, prepare: answering(name) });
        for (let call = 0; call < 2; call += 1) {
          const answer = await client.callTool({ name: `${names}greet`, arguments: {} });
          assert.deepEqual(JSON.parse(textOf(answer) ?? ''), { action: 'accept', content: { name } });
        }
        await client.close();
      }
    });
  }

  test('MCP-001: clients of the new era, and those that cannot be asked, meet it in the new one', async () => {
    const modern = await connectClient(app, { revision: '2026-07-28', capabilities: everyCapability });
    assert.equal(textOf(await modern.callTool({ name: 'streamable-dual__era', arguments: {} })), 'modern');
    const plain = await connectClient(app);
    assert.equal(textOf(await plain.callTool({ name: 'streamable-dual__era', arguments: {} })), 'modern');
    await modern.close();
    await plain.close();
  });

  for (const server of ['streamable-dual', 'streamable-modern']) {
    test(`MCP-001: clients of the old era that named no level hear log messages (${server})`, async () => {
      for (const capabilities of [{}, everyCapability]) {
        const heard: unknown[] = [];
        const client = await connectClient(app, {
          capabilities,
          prepare: (one) =>
            one.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params.data)),
        });
        await client.callTool({ name: `${server}__talk`, arguments: {} });
        assert.deepEqual(heard, ['talking']);
        await client.setLoggingLevel('error');
        await client.callTool({ name: `${server}__talk`, arguments: {} });
        assert.deepEqual(heard, ['talking']);
        await client.close();
      }
    });
  }

  test('MCP-001: a server of the new era alone serves clients of the old one as before', async () => {
    const client = await connectClient(app, { capabilities: everyCapability, prepare: answering('Ada') });
    for (let call = 0; call < 2; call += 1)
      assert.equal(textOf(await client.callTool({ name: 'streamable-modern__era', arguments: {} })), 'modern');
    await client.close();
  });
});
