import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { suite, test } from 'node:test';
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { startFeatureServer, stdioFeatureServer } from './feature-server.ts';
import { misbehavingServer } from './misbehaving.ts';

/** Each wire and era, and a client transport for it. */
const wires = {
  'stdio legacy': () => stdio('legacy'),
  'stdio modern': () => stdio('modern'),
  SSE: () => http('sse'),
  'Streamable HTTP legacy': () => http('streamable-legacy'),
  'Streamable HTTP modern': () => http('streamable-modern'),
  'Streamable HTTP dual': () => http('streamable-dual'),
};

async function stdio(era: 'legacy' | 'modern') {
  const command = stdioFeatureServer(era, { label: 'a', extraTools: 100, pageSize: 20 });
  return { transport: new StdioClientTransport(command), close: async () => undefined };
}

async function http(transport: 'sse' | 'streamable-legacy' | 'streamable-modern' | 'streamable-dual') {
  const server = await startFeatureServer({ transport, label: 'a', extraTools: 100, pageSize: 20 });
  const Transport = transport === 'sse' ? SSEClientTransport : StreamableHTTPClientTransport;
  return { transport: new Transport(new URL(server.url)), close: server.close };
}

for (const [name, open] of Object.entries(wires)) {
  suite(`feature server over ${name}`, () => {
    test('answers an SDK client: lists in pages, calls, progress, input from the client', async (t) => {
      const { transport, close } = await open();
      t.after(close);
      const modern = name.endsWith('modern') || name.endsWith('dual');
      const client = new Client(
        { name: 'test', version: '1' },
        {
          capabilities: { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} },
          versionNegotiation: { mode: modern ? { pin: '2026-07-28' } : 'legacy' },
        },
      );
      client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///work', name: 'work' }] }));
      client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
      await client.connect(transport);
      t.after(() => client.close());

      assert.equal((await client.listTools()).tools.length > 100, true);
      const sum = await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } });
      assert.deepEqual(sum.structuredContent, { sum: 5 });

      const steps: number[] = [];
      await client.callTool(
        { name: 'progress', arguments: { n: 3 } },
        { onprogress: ({ progress }) => steps.push(progress) },
      );
      assert.deepEqual(steps, [1, 2, 3]);

      const roots = await client.callTool({ name: 'roots', arguments: {} });
      assert.deepEqual(roots.structuredContent, { roots: { roots: [{ uri: 'file:///work', name: 'work' }] } });
      const form = await client.callTool({ name: 'elicit', arguments: {} });
      assert.deepEqual(form.structuredContent, { form: { action: 'accept', content: { name: 'Ada' } } });

      const cancel = new AbortController();
      const slow = client.callTool({ name: 'slow', arguments: { ms: 60_000 } }, { signal: cancel.signal });
      setImmediate(() => cancel.abort());
      await assert.rejects(slow);

      const item = await client.readResource({ uri: 'fixture://item/7' });
      assert.deepEqual(item.contents, [{ uri: 'fixture://item/7', mimeType: 'text/plain', text: 'item 7 of a' }]);
      const completion = await client.complete({
        ref: { type: 'ref/prompt', name: 'greeting' },
        argument: { name: 'tone', value: 'f' },
      });
      assert.deepEqual(completion.completion.values, ['friendly', 'formal', 'funny']);
      await assert.rejects(client.callTool({ name: 'rpc_error', arguments: {} }), { code: -32050 });
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

test('the tree server names its grandchild', async () => {
  const { command, args } = misbehavingServer('tree');
  const child = spawn(command, args, { stdio: ['pipe', 'ignore', 'pipe'] });
  const [line] = await once(createInterface({ input: child.stderr }), 'line');
  const grandchild = Number(/^grandchild (\d+)$/.exec(line)?.[1]);
  process.kill(grandchild);
  child.stdin.end();
  await once(child, 'exit');
});
