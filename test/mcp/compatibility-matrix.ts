/** What works between which client and which server: tried, not claimed. Its result is docs/compatibility.md. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { Client } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { startSdkServer } from '../conformance/sdk-server.ts';
import { type Body, type Connection, startApp, type TestApp } from '../support/app.ts';
import { createFeatureProgram } from '../support/servers/feature-program.ts';
import { type HttpTransport, startFeatureServer, stdioFeatureServer } from '../support/servers/feature-server.ts';
import { until } from '../support/until.ts';
import { wireProgress } from '../support/wire-progress.ts';
import {
  answering,
  type ClientRevision,
  clientRevisions,
  connectClient,
  everyCapability,
  postModern,
} from './clients.ts';

export const features = [
  'tools',
  'progress',
  'cancel',
  'sampling',
  'elicitation',
  'roots',
  'resources',
  'subscribe',
  'prompts',
  'completion',
  'logging',
  'list_changed',
  'instructions',
  'extensions',
  'apps',
  'skills',
  'tasks',
] as const;
export type Feature = (typeof features)[number];

const options = { label: 'matrix', withExtensions: true };

const servers = {
  'STDIO, legacy': () => local(stdioFeatureServer('legacy', options)),
  'STDIO, modern': () => local(stdioFeatureServer('modern', options)),
  SSE: () => remote('sse', (url) => ({ url })),
  'HTTP, legacy': () => remote('streamable-legacy', (url) => ({ base_url: url })),
  'HTTP, modern': () => remote('streamable-modern', (url) => ({ base_url: url })),
  'HTTP, both (official SDK)': startBoth,
} satisfies Record<string, () => Promise<Running>>;
export type ServerKind = keyof typeof servers;

interface Running {
  connection: Connection;
  close(): Promise<void>;
}

const local = async (connection: Connection): Promise<Running> => ({ connection, close: async () => undefined });

async function remote(transport: HttpTransport, toConnection: (url: string) => Connection): Promise<Running> {
  const server = await startFeatureServer({ transport, ...options });
  return { connection: toConnection(server.url), close: server.close };
}

async function startBoth(): Promise<Running> {
  const server = await startSdkServer(createFeatureProgram(options));
  return { connection: { base_url: server.url }, close: server.close };
}

export interface Cell {
  client: ClientRevision;
  server: ServerKind;
  /** Undefined where it worked, else what went wrong. */
  problems: Partial<Record<Feature, string>>;
}

const noTasks = 'tasks are an extension of 2026-07-28; older clients call the same tools without them';

/** Features that a revision of the client does not have. */
export const absent: Record<string, Partial<Record<Feature, string>>> = {
  '2024-11-05': { elicitation: 'elicitation came with 2025-06-18', tasks: noTasks },
  '2025-06-18': { tasks: noTasks },
  '2025-11-25': { tasks: noTasks },
};

export async function runCompatibility(): Promise<Cell[]> {
  const kinds = Object.entries(servers) as [ServerKind, () => Promise<Running>][];
  return (await Promise.all(kinds.map(([kind, start]) => tryServer(kind, start)))).flat();
}

async function tryServer(kind: ServerKind, start: () => Promise<Running>): Promise<Cell[]> {
  const cells: Cell[] = [];
  const app = await startApp();
  const server = await start();
  try {
    await app.add('s', server.connection);
    for (const revision of clientRevisions) cells.push(await tryClient(app, revision, kind));
  } finally {
    await app.close();
    await server.close();
  }
  return cells;
}

async function tryClient(app: TestApp, revision: ClientRevision, server: ServerKind): Promise<Cell> {
  const problems: Cell['problems'] = {};
  const client = await connectClient(app, { revision, capabilities: everyCapability, prepare: answering(revision) });
  try {
    for (const feature of features) {
      if (absent[revision]?.[feature] !== undefined) continue;
      try {
        await withPatience(attempts[feature]({ app, client, revision }));
      } catch (error) {
        problems[feature] = error instanceof Error ? error.message : String(error);
      }
    }
  } finally {
    await client.close();
  }
  return { client: revision, server, problems };
}

const patienceMs = 60_000;

async function withPatience(attempt: Promise<void>): Promise<void> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => timeout.reject(new Error(`nothing within ${patienceMs} ms`)), patienceMs);
  await Promise.race([attempt, timeout.promise]).finally(() => clearTimeout(timer));
}

interface Attempt {
  app: TestApp;
  client: Client;
  revision: ClientRevision;
}

const call = (client: Client, name: string, args: Record<string, unknown> = {}) =>
  client.callTool({ name: `s__${name}`, arguments: args });

const attempts: Record<Feature, (attempt: Attempt) => Promise<void>> = {
  async tools({ client }) {
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === 's__add'));
    assert.deepEqual((await call(client, 'add', { a: 2, b: 3 })).structuredContent, { sum: 5 });
    assert.equal((await call(client, 'fail')).isError, true);
    await assert.rejects(call(client, 'rpc_error'), { code: -32050 });
  },

  async progress({ client }) {
    const steps = wireProgress(client.transport);
    await client.callTool({ name: 's__progress', arguments: { n: 4 } }, { onprogress: () => undefined });
    assert.deepEqual(steps, [1, 2, 3, 4]);
  },

  /** Cancelled when the first progress shows that the server has begun. */
  async cancel({ client }) {
    const before = await cancellations(client);
    const cancel = new AbortController();
    const slow = { name: 's__slow', arguments: { ms: 60_000 } };
    await assert.rejects(client.callTool(slow, { signal: cancel.signal, onprogress: () => cancel.abort() }));
    await until(async () => (await cancellations(client)) === before + 1, 'the server heard of the cancellation');
  },

  async sampling({ client, revision }) {
    const { structuredContent } = await call(client, 'sample', { prompt: 'hello' });
    assert.deepEqual(structuredContent, {
      sample: {
        model: `model of ${revision}`,
        role: 'assistant',
        content: { type: 'text', text: `sampled by ${revision}` },
      },
    });
  },

  async elicitation({ client, revision }) {
    const { structuredContent } = await call(client, 'elicit');
    assert.deepEqual(structuredContent, { form: { action: 'accept', content: { name: revision } } });
  },

  async roots({ client, revision }) {
    const { structuredContent } = await call(client, 'roots');
    assert.deepEqual(structuredContent, { roots: { roots: [{ uri: `file:///${revision}`, name: revision }] } });
  },

  async resources({ client }) {
    const { resources } = await client.listResources();
    assert.deepEqual(
      resources.map(({ uri }) => uri),
      ['fixture://static'],
    );
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.equal(resourceTemplates[0]?.uriTemplate, 'fixture://item/{id}');
    const { contents } = await client.readResource({ uri: 'fixture://item/7' });
    assert.deepEqual(contents, [{ uri: 'fixture://item/7', mimeType: 'text/plain', text: 'item 7 of matrix' }]);
  },

  async subscribe({ client, revision }) {
    const updated = Promise.withResolvers<string>();
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => updated.resolve(params.uri));
    const uri = 'fixture://static';
    const listening = revision === '2026-07-28' ? await client.listen({ resourceSubscriptions: [uri] }) : undefined;
    if (listening === undefined) await client.subscribeResource({ uri });
    // Where the client has a process of its own behind it, the change has to happen there.
    await call(client, 'touch_resource', { uri });
    assert.equal(await updated.promise, uri);
    if (listening === undefined) await client.unsubscribeResource({ uri });
    else await listening.close();
  },

  async prompts({ client }) {
    const { prompts } = await client.listPrompts();
    assert.equal(prompts[0]?.name, 's__greeting');
    const { messages } = await client.getPrompt({ name: 's__greeting', arguments: { name: 'Ada', tone: 'warmly' } });
    assert.deepEqual(messages, [{ role: 'user', content: { type: 'text', text: 'Greet Ada, warmly, as matrix.' } }]);
  },

  async completion({ client }) {
    const argument = { name: 'tone', value: 'f' };
    const { completion } = await client.complete({ ref: { type: 'ref/prompt', name: 's__greeting' }, argument });
    assert.deepEqual(completion.values, ['friendly', 'formal', 'funny']);
    const item = { type: 'ref/resource', uri: 'fixture://item/{id}' } as const;
    const ids = await client.complete({ ref: item, argument: { name: 'id', value: '1' } });
    assert.deepEqual(ids.completion.values, ['1', '10', '100']);
  },

  async logging({ client, revision }) {
    const heard: string[] = [];
    const last = Promise.withResolvers<void>();
    client.setNotificationHandler('notifications/message', ({ params }) => {
      heard.push(params.level);
      if (params.level === 'error') last.resolve();
    });
    const log = { name: 's__log', arguments: {} };
    if (revision === '2026-07-28') {
      await client.callTool({ ...log, _meta: { 'io.modelcontextprotocol/logLevel': 'warning' } });
    } else {
      await client.setLoggingLevel('warning');
      await client.callTool(log);
    }
    await last.promise;
    assert.deepEqual(heard, ['warning', 'error']);
  },

  async list_changed({ client, revision }) {
    const changed = Promise.withResolvers<void>();
    client.setNotificationHandler('notifications/tools/list_changed', () => changed.resolve());
    const listening = revision === '2026-07-28' ? await client.listen({ toolsListChanged: true }) : undefined;
    const { structuredContent } = (await call(client, 'change_tools')) as { structuredContent: { added: boolean } };
    await changed.promise;
    const { tools } = await client.listTools();
    assert.equal(
      tools.some(({ name }) => name === 's__appeared'),
      structuredContent.added,
    );
    await listening?.close();
  },

  async instructions({ client }) {
    assert.match(client.getInstructions() ?? '', /Instructions of matrix\./);
  },

  async extensions({ client }) {
    assert.deepEqual(client.getServerCapabilities()?.extensions?.['example.com/own'], { level: 1 });
  },

  async apps({ client }) {
    const { tools } = await client.listTools();
    const ui = tools.find(({ name }) => name === 's__show')?._meta?.ui;
    const { contents } = await client.readResource({ uri: (ui as { resourceUri: string }).resourceUri });
    assert.deepEqual(
      contents.map((content) => 'text' in content && [content.mimeType, content.text]),
      [['text/html;profile=mcp-app', '<p>matrix</p>']],
    );
  },

  async skills({ client }) {
    const { skills } = await client.request({ method: 'skills/list', params: {} }, anything);
    const [{ uri, resources }] = skills as [{ uri: string; resources: { digest: string }[] }];
    const { contents } = await client.readResource({ uri });
    const [content] = contents as { text?: string }[];
    const digest = createHash('sha256')
      .update(content?.text ?? '')
      .digest('hex');
    assert.equal(resources[0]?.digest, `sha256:${digest}`);
  },

  async tasks({ app }) {
    const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const ask = async (method: string, params: Record<string, unknown>) =>
      (await postModern(app, method, params, { capabilities })).body.result;
    const { taskId, resultType } = await ask('tools/call', { name: 's__task', arguments: {} });
    assert.equal(resultType, 'task');
    let task: Body;
    do task = await ask('tasks/get', { taskId });
    while (task.status === 'working');
    assert.equal(task.result.content[0].text, 'task done');
  },
};

const anything = z.looseObject({});

/** Asked by the same client: one that can be asked itself may have a process of its own behind it. */
async function cancellations(client: Client): Promise<number> {
  const { structuredContent } = await call(client, 'cancelled_count');
  return (structuredContent as { cancelled: number }).cancelled;
}
