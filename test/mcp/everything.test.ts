/** The reference server of the protocol behind us, on every transport it has, with two clients at the same time. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { type Body, type Connection, startApp, type TestApp } from '../support/app.ts';
import { freePort } from '../support/ports.ts';
import { wireProgress } from '../support/wire-progress.ts';
import { answering, connectClient, everyCapability } from './clients.ts';

const program = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
);

const transports = {
  stdio: async () => ({ connection: { command: process.execPath, args: [program, 'stdio'] }, child: undefined }),
  streamableHttp: () => started('streamableHttp', (port) => ({ base_url: `http://127.0.0.1:${port}/mcp` })),
  sse: () => started('sse', (port) => ({ url: `http://127.0.0.1:${port}/sse` })),
} satisfies Record<string, () => Promise<{ connection: Connection; child: ChildProcess | undefined }>>;

async function started(mode: string, toConnection: (port: number) => Connection) {
  const port = await freePort();
  const child = spawn(process.execPath, [program, mode], {
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await once(child.stderr, 'data'); // it says so when it listens
  return { connection: toConnection(port), child };
}

for (const [mode, start] of Object.entries(transports)) {
  suite(`server-everything over ${mode}`, () => {
    let app: TestApp;
    let child: ChildProcess | undefined;

    before(async () => {
      app = await startApp();
      const running = await start();
      child = running.child;
      await app.add('everything', running.connection);
    });
    after(async () => {
      await app.close();
      child?.kill();
    });

    test('two SDK clients at once: progress, sampling, elicitation, roots, completion, logging, each its own', async () => {
      await Promise.all(['ada', 'bob'].map((name) => useEverything(app, name)));
    });

    test('a 2026-07-28 client gets the same', async (t) => {
      const name = 'eve';
      const client = await connectClient(app, {
        revision: '2026-07-28',
        capabilities: everyCapability,
        prepare: answering(name),
      });
      t.after(() => client.close());
      const call = async (tool: string, args = {}, options = {}) =>
        JSON.stringify(await client.callTool({ name: `everything__${tool}`, arguments: args }, options));
      const steps = wireProgress(client.transport);
      // In the middle of it the server asks for the roots: the call waits, is retried, and its progress goes on.
      await call('trigger-long-running-operation', { duration: 1, steps: 5 }, { onprogress: () => undefined });
      assert.deepEqual([...new Set(steps)], [1, 2, 3, 4, 5]);
      assert.match(await call('trigger-sampling-request', { prompt: 'hello' }), /sampled by eve/);
      assert.match(await call('trigger-elicitation-request'), /Name: eve/);
      assert.match(await call('get-roots-list'), /file:\/\/\/eve/);
    });
  });
}

async function useEverything(app: TestApp, name: string): Promise<void> {
  const client = new OldClient({ name, version: '1' }, { capabilities: everyCapability });
  const asked: string[] = [];
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
    asked.push(JSON.stringify(params.messages));
    return { model: name, role: 'assistant', content: { type: 'text', text: `sampled by ${name}` } };
  });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name } }));
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `file:///${name}`, name }] }));
  const logged = Promise.withResolvers<Body>();
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => logged.resolve(params));
  const requestInit = { headers: { authorization: `Bearer ${app.adminToken}` } };
  // The v1 transport's type does not say that its session id may be undefined, which ours does.
  const transport = new StreamableHTTPClientTransport(new URL(`${app.url}/mcp`), { requestInit });
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  const call = async (tool: string, args = {}, options = {}) =>
    JSON.stringify(await client.callTool({ name: `everything__${tool}`, arguments: args }, undefined, options));

  try {
    const steps = wireProgress(client.transport);
    const long = { duration: 0.5, steps: 5 };
    const running = call('trigger-long-running-operation', long, { onprogress: () => undefined });
    assert.match(await call('echo', { message: `I am ${name}` }), new RegExp(`I am ${name}`));
    assert.match(await running, /completed/);
    assert.deepEqual(steps, [1, 2, 3, 4, 5]);

    assert.match(await call('trigger-sampling-request', { prompt: `of ${name}` }), new RegExp(`sampled by ${name}`));
    assert.equal(asked.length, 1);
    assert.match(asked[0] ?? '', new RegExp(`of ${name}`));
    assert.match(await call('trigger-elicitation-request'), new RegExp(`Name: ${name}`));
    assert.match(await call('get-roots-list'), new RegExp(`file:///${name}`));

    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'everything__completable-prompt' },
      argument: { name: 'department', value: 'Eng' },
    });
    assert.deepEqual(completion.values, ['Engineering']);

    await client.setLoggingLevel('debug');
    await call('toggle-simulated-logging');
    assert.ok((await logged.promise).level);
  } finally {
    await client.close();
  }
}
