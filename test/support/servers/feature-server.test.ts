import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { wireProgress } from '../wire-progress.ts';
import { type HttpTransport, startFeatureServer, stdioFeatureServer } from './feature-server.ts';
import { misbehavingServer } from './misbehaving.ts';

type Era = 'legacy' | 'modern';

/** Each wire and era, with a transport of the official client for it. */
const wires: { name: string; era: Era; open(t: TestContext): Promise<Parameters<Client['connect']>[0]> }[] = [
  { name: 'stdio legacy', era: 'legacy', open: async () => stdio('legacy') },
  { name: 'stdio modern', era: 'modern', open: async () => stdio('modern') },
  { name: 'SSE', era: 'legacy', open: (t) => http(t, 'sse') },
  { name: 'Streamable HTTP legacy', era: 'legacy', open: (t) => http(t, 'streamable-legacy') },
  { name: 'Streamable HTTP modern', era: 'modern', open: (t) => http(t, 'streamable-modern') },
  { name: 'Streamable HTTP dual, legacy client', era: 'legacy', open: (t) => http(t, 'streamable-dual') },
  { name: 'Streamable HTTP dual, modern client', era: 'modern', open: (t) => http(t, 'streamable-dual') },
];

const options = { label: 'a', extraTools: 100, pageSize: 20 };

function stdio(era: Era) {
  return new StdioClientTransport(stdioFeatureServer(era, options));
}

async function http(t: TestContext, transport: HttpTransport) {
  const server = await startFeatureServer({ transport, ...options });
  t.after(server.close);
  const url = new URL(server.url);
  return transport === 'sse' ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
}

for (const { name, era, open } of wires) {
  async function connect(t: TestContext): Promise<Client> {
    const client = new Client(
      { name: 'test', version: '1' },
      {
        capabilities: { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} },
        versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
      },
    );
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///work', name: 'work' }] }));
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
    await client.connect(await open(t));
    t.after(() => client.close());
    return client;
  }

  suite(`feature server over ${name}`, () => {
    test('lists in pages, calls, reads, completes, refuses', async (t) => {
      const client = await connect(t);
      assert.equal((await client.listTools()).tools.length > 100, true);
      const sum = await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } });
      assert.deepEqual(sum.structuredContent, { sum: 5 });
      const item = await client.readResource({ uri: 'fixture://item/7' });
      assert.deepEqual(item.contents, [{ uri: 'fixture://item/7', mimeType: 'text/plain', text: 'item 7 of a' }]);
      const { completion } = await client.complete({
        ref: { type: 'ref/prompt', name: 'greeting' },
        argument: { name: 'tone', value: 'f' },
      });
      assert.deepEqual(completion.values, ['friendly', 'formal', 'funny']);
      await assert.rejects(client.callTool({ name: 'rpc_error', arguments: {} }), { code: -32050 });
    });

    test('reports progress and asks the client', async (t) => {
      const client = await connect(t);
      const steps = wireProgress(client.transport);
      await client.callTool({ name: 'progress', arguments: { n: 3 } }, { onprogress: () => undefined });
      assert.deepEqual(steps, [1, 2, 3]);
      const roots = await client.callTool({ name: 'roots', arguments: {} });
      assert.deepEqual(roots.structuredContent, { roots: { roots: [{ uri: 'file:///work', name: 'work' }] } });
      const form = await client.callTool({ name: 'elicit', arguments: {} });
      assert.deepEqual(form.structuredContent, { form: { action: 'accept', content: { name: 'Ada' } } });
    });

    test('sees a cancellation', async (t) => {
      const client = await connect(t);
      const cancel = new AbortController();
      const call = { name: 'slow', arguments: { ms: 60_000 } };
      await assert.rejects(client.callTool(call, { signal: cancel.signal, onprogress: () => cancel.abort() }));
      // The cancellation travels beside the calls, so it may arrive after the first question about it.
      const count = async () => (await client.callTool({ name: 'cancelled_count', arguments: {} })).structuredContent;
      for (let left = 50; left > 0 && JSON.stringify(await count()) !== '{"cancelled":1}'; left--) await sleep(10);
      assert.deepEqual(await count(), { cancelled: 1 });
    });

    test('announces changes of its tools and resources', async (t) => {
      const client = await connect(t);
      const listChanged = Promise.withResolvers<void>();
      const updated = Promise.withResolvers<string>();
      client.setNotificationHandler('notifications/tools/list_changed', () => listChanged.resolve());
      client.setNotificationHandler('notifications/resources/updated', ({ params }) => updated.resolve(params.uri));
      if (era === 'modern') {
        await client.listen({ toolsListChanged: true, resourceSubscriptions: ['fixture://static'] });
      } else {
        await client.subscribeResource({ uri: 'fixture://static' });
      }
      await client.callTool({ name: 'change_tools', arguments: {} });
      await client.callTool({ name: 'touch_resource', arguments: {} });
      await listChanged.promise;
      assert.equal(await updated.promise, 'fixture://static');
    });

    test('breaks the connection in the middle of a call', async (t) => {
      const client = await connect(t);
      // A legacy HTTP client waits for a lost stream to be resumed, so it needs an end of its own.
      await assert.rejects(client.callTool({ name: 'crash_mid_call', arguments: {} }, { timeout: 1_000 }));
    });
  });
}

test('the rmcp server exits upon a request before initialize', async () => {
  const { command, args } = misbehavingServer('rmcp');
  const child = spawn(command, args, { stdio: ['pipe', 'ignore', 'ignore'] });
  child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"server/discover"}\n');
  const [code] = await once(child, 'exit');
  assert.equal(code, 1);
});

test('the silent server ignores a request before initialize, and serves after it', async () => {
  const { command, args } = misbehavingServer('silent-discover');
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"server/discover"}\n');
  child.stdin.write('{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  assert.equal(JSON.parse(line).id, 2);
  child.stdin.end();
  await once(child, 'exit');
});

test('the tree server names its grandchild', async () => {
  const { command, args } = misbehavingServer('tree');
  const child = spawn(command, args, { stdio: ['pipe', 'ignore', 'pipe'] });
  const [line] = await once(createInterface({ input: child.stderr }), 'line');
  const grandchild = Number(/^grandchild (\d+)$/.exec(line)?.[1]);
  process.kill(grandchild);
  child.stdin.end();
  await once(child, 'exit');
});
