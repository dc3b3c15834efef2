/** What goes in comes out: random JSON in both directions, both eras on both sides, compared to the last member. */
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import { modernRequest } from '../support/modern-request.ts';
import { listenLocally, type RunningServer } from '../support/servers/http-wire.ts';
import { open, openSession, post, postModern, type RawAnswer, type RawSession, readEvents } from './clients.ts';
import {
  definitions,
  mirrorCommand,
  promptDefinition,
  resourceContent,
  resourceDefinition,
  startMirror,
} from './mirror-server.ts';
import { createRandom, type Json, pick, type Random, randomJson, randomObject } from './random-json.ts';

const rounds = 15;
const servers = ['stdio-legacy', 'stdio-modern', 'http-legacy', 'http-modern'] as const;
const capabilities = { elicitation: {} };

let app: TestApp;
let running: RunningServer[];
let session: RawSession;

before(async () => {
  app = await startApp({ MCP_AGGREGATOR_EXPOSURE: 'all' });
  const [legacy, modern] = await Promise.all([startMirror('streamable-legacy'), startMirror('streamable-modern')]);
  running = [legacy, modern];
  await app.add('stdio-legacy', mirrorCommand('legacy'));
  await app.add('stdio-modern', mirrorCommand('modern'));
  await app.add('http-legacy', { base_url: legacy.url });
  await app.add('http-modern', { base_url: modern.url });
  session = await openSession(app, { capabilities });
});
after(async () => {
  await app.close();
  for (const server of running) await server.close();
});

type Request = (method: string, params: Record<string, Json>) => Promise<Body>;

const clients: Record<string, Request> = {
  legacy: async (method, params) => message(await session.request(method, params)),
  modern: async (method, params) => message(await postModern(app, method, params, { capabilities })),
};

const message = ({ body, events }: RawAnswer) => body ?? events.at(-1);

for (const [era, request] of Object.entries(clients)) {
  suite(`${era} client`, () => {
    for (const server of servers) {
      suite(`${server} server`, () => {
        test('definitions', async () => {
          const { tools } = (await request('tools/list', {})).result;
          for (const definition of Object.values(definitions)) {
            const listed = tools.find(({ name }: Body) => name === `${server}__${definition.name}`);
            assert.deepEqual(listed, { ...definition, name: `${server}__${definition.name}` });
          }
          const { prompts } = (await request('prompts/list', {})).result;
          const prompt = prompts.find(({ name }: Body) => name === `${server}__mirror`);
          assert.deepEqual(prompt, { ...promptDefinition, name: `${server}__mirror` });
          const uri = `mcp-aggregator://${server}/mirror://one`;
          const { resources } = (await request('resources/list', {})).result;
          assert.deepEqual(
            resources.find((resource: Body) => resource.uri === uri),
            { ...resourceDefinition, uri },
          );
          const read = (await request('resources/read', { uri })).result;
          // Several servers have it, so that its address names the server.
          assert.deepEqual(read.contents, [{ ...resourceContent, uri }]);
        });

        test('results of tools and prompts', async () => {
          const random = createRandom(1);
          for (let round = 0; round < rounds; round += 1) {
            const result = randomResult(random);
            const answer = await request('tools/call', { name: `${server}__reply`, arguments: { result } });
            assert.deepEqual(withoutHop(answer.result), result);
            const prompt = { messages: [], description: 'd', ...randomObject(random) };
            const args = { result: JSON.stringify(prompt) };
            const got = await request('prompts/get', { name: `${server}__mirror`, arguments: args });
            assert.deepEqual(withoutHop(got.result), prompt);
          }
        });

        test('arguments, unknown params and _meta', async () => {
          const random = createRandom(2);
          for (let round = 0; round < rounds; round += 1) {
            const meta = { ...randomObject(random), 'example.com/trace': randomJson(random) };
            const params = { arguments: randomObject(random), futureParam: randomJson(random), _meta: meta };
            const answer = await request('tools/call', { ...params, name: `${server}__reveal` });
            const { params: seen } = answer.result.structuredContent;
            assert.deepEqual(withoutHop(seen), { ...params, name: 'reveal' });
          }
        });

        test('errors with their data', async () => {
          const random = createRandom(3);
          for (let round = 0; round < rounds; round += 1) {
            const code = pick(random, [-32_000, -32_050, 7, -1, -32_603]);
            const error = { code, message: `failed ${round}`, data: randomJson(random) };
            const answer = await request('tools/call', { name: `${server}__raise`, arguments: error });
            assert.deepEqual(answer.error, error);
          }
        });

        test('questions and their answers', async () => {
          const random = createRandom(4);
          for (let round = 0; round < 10; round += 1) {
            const question = { ...randomObject(random), message: `m${round}`, requestedSchema: randomObject(random) };
            const answer = { ...randomObject(random), action: 'accept', content: randomObject(random) };
            const ask = { name: `${server}__ask`, arguments: { question } };
            const { asked, result } = await (era === 'legacy' ? askedWithin : askedByAnswer)(ask, answer);
            // Clients show who asks, and behind us they see only us.
            assert.deepEqual(asked, { ...question, message: `[${server}] m${round}` });
            assert.deepEqual(result.structuredContent, { question: answer });
          }
        });
      });
    }
  });
}

suite('content that a client of an older revision does not know', () => {
  const link = { type: 'resource_link', uri: 'mirror://one', name: 'one', title: 'The one' };
  const audio = { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' };
  const text = { type: 'text', text: 'plain' };
  // Several servers have it.
  const address = 'mcp-aggregator://http-modern/mirror://one';
  const linkAsText = { type: 'text', text: `The one: ${address}` };
  const audioAsText = { type: 'text', text: '[audio, audio/wav]' };
  const expected = {
    '2024-11-05': [text, linkAsText, audioAsText],
    '2025-03-26': [text, linkAsText, audio],
    '2025-06-18': [text, { ...link, uri: address }, audio],
  };
  for (const [revision, parts] of Object.entries(expected)) {
    test(`${revision}: reaches it as text, in results and in prompts`, async () => {
      const older = await openSession(app, { revision });
      const result = { content: [text, link, audio] };
      const called = await older.request('tools/call', { name: 'http-modern__reply', arguments: { result } });
      assert.deepEqual(message(called).result.content, parts);
      const prompt = { messages: result.content.map((content) => ({ role: 'user', content })) };
      const args = { result: JSON.stringify(prompt) };
      const got = await older.request('prompts/get', { name: 'http-modern__mirror', arguments: args });
      assert.deepEqual(
        message(got).result.messages,
        parts.map((content) => ({ role: 'user', content })),
      );
    });
  }
});

function randomResult(random: Random): Record<string, Json> {
  return {
    ...randomObject(random),
    content: Array.from({ length: Math.floor(random() * 3) }, () => ({ ...randomObject(random), type: 'hologram' })),
    structuredContent: randomObject(random),
    isError: random() < 0.3,
    ...(random() < 0.5 ? { _meta: { ...randomObject(random), 'example.com/result': randomJson(random) } } : {}),
  };
}

const hopKeys = ['protocolVersion', 'clientInfo', 'clientCapabilities', 'logLevel', 'serverInfo'].map(
  (key) => `io.modelcontextprotocol/${key}`,
);

/** Without what every hop has of its own. */
function withoutHop({ resultType: _type, _meta, ...rest }: Body): Body {
  const kept = Object.fromEntries(Object.entries(_meta ?? {}).filter(([key]) => !hopKeys.includes(key)));
  return Object.keys(kept).length === 0 ? rest : { ...rest, _meta: kept };
}

async function askedWithin(params: Record<string, Json>, answer: Json): Promise<{ asked: Body; result: Body }> {
  const request = { jsonrpc: '2.0', id: 'ask', method: 'tools/call', params };
  const response = await open(app, 'POST', request, { headers: session.headers });
  let asked: Body;
  for await (const { data } of readEvents(response)) {
    const said: Body = data === '' ? {} : JSON.parse(data);
    if (said.method === 'elicitation/create') {
      asked = said.params;
      await post(app, { jsonrpc: '2.0', id: said.id, result: answer }, { headers: session.headers });
    }
    if (said.id === 'ask') return { asked, result: said.result };
  }
  throw new Error('the stream ended without an answer');
}

async function askedByAnswer(params: Record<string, Json>, answer: Json): Promise<{ asked: Body; result: Body }> {
  const first = message(await postModern(app, 'tools/call', params, { capabilities })).result;
  assert.equal(first.resultType, 'input_required');
  const [[key, question]] = Object.entries<Body>(first.inputRequests) as [[string, Body]];
  const retry = {
    ...params,
    inputResponses: { [key]: answer },
    ...(first.requestState === undefined ? {} : { requestState: first.requestState }),
  };
  const { result } = message(await postModern(app, 'tools/call', retry, { capabilities }));
  return { asked: question.params, result };
}

test('numbers that JavaScript cannot hold arrive as they were written', async (t) => {
  const big = '1234567890123456789';
  const id = '98765432109876543210';
  const heard: string[] = [];
  // Answers with the very characters that it got, as a server in another language would.
  const echoing = await listenLocally('/mcp', 0, () => ({
    close: () => undefined,
    handle: async (request, response) => {
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const body = await text(request);
      const { id: asked, method } = JSON.parse(body);
      if (asked === undefined) return void response.writeHead(202).end();
      if (method === 'server/discover') return void response.writeHead(400).end();
      const number = /"big":([^,}]+)/.exec(body)?.[1];
      if (number !== undefined) heard.push(number);
      const result = {
        initialize: `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"e","version":"1"}}`,
        'tools/list': `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"big":{"maximum":${big}}}}}]}`,
        'tools/call': `{"content":[],"structuredContent":{"big":${number}}}`,
      }[String(method)];
      const headers = { 'content-type': 'application/json' };
      response.writeHead(200, headers).end(`{"jsonrpc":"2.0","id":${asked},"result":${result ?? '{}'}}`);
    },
  }));
  t.after(echoing.close);
  await app.add('echoing', { base_url: echoing.url });

  const send = async (path: string, body: string, headers: Record<string, string> = {}) => {
    const own = { authorization: `Bearer ${app.adminToken}`, 'content-type': 'application/json' };
    return await (await fetch(`${app.url}${path}`, { method: 'POST', headers: { ...own, ...headers }, body })).text();
  };
  const call = `{"name":"echoing__echo","arguments":{"big":${big}}`;
  const meta = Object.entries(modernRequest('tools/call', {}).message.params._meta);
  const inMeta = meta.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',');
  const modern = modernRequest('tools/call', { name: 'echoing__echo' }).headers;
  for (const [face, answer] of [
    [
      'legacy',
      await send('/mcp', `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${call}}}`, session.headers),
    ],
    [
      'modern',
      await send(
        '/mcp',
        `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${call},"_meta":{${inMeta}}}}`,
        modern,
      ),
    ],
    ['REST', await send('/api/v1/tools/call', `${call}}`)],
  ] as const) {
    assert.ok(answer.includes(`"structuredContent":{"big":${big}}`), `${face}: ${answer}`);
    if (face !== 'REST') assert.ok(answer.includes(`"id":${id}`), `${face}: ${answer}`);
  }
  assert.deepEqual(heard, [big, big, big]);
  const listed = await send('/mcp', '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', session.headers);
  assert.ok(listed.includes(`"maximum":${big}`));
});

test('a result that nothing changes in arrives as it was written, as JSON and on a stream', async (t) => {
  const content = '[ {"type":"text", "text":"\\u00e9é\\/"} ]';
  const structured = '{"price":1.0,\n "many":[1e2,-0,12345678901234567890]}';
  const long = 'é"\\n'.repeat(200_000);
  const writing = await listenLocally('/mcp', 0, () => ({
    close: () => undefined,
    handle: async (request, response) => {
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const { id, method, params } = JSON.parse(await text(request));
      if (id === undefined) return void response.writeHead(202).end();
      if (method === 'server/discover') return void response.writeHead(400).end();
      const tools = ['short', 'long'].map((name) => `{"name":"${name}","inputSchema":{"type":"object"}}`);
      const more = params?.name === 'long' ? `,"long":${JSON.stringify(long)}` : '';
      const result = {
        initialize: `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"w","version":"1"}}`,
        'tools/list': `{"tools":[${tools}]}`,
        'tools/call': `{"content":${content},"structuredContent":${structured}${more}}`,
      }[String(method)];
      const headers = { 'content-type': 'application/json' };
      response.writeHead(200, headers).end(`{"result":${result ?? '{}'},"id":${id},"jsonrpc":"2.0"}`);
    },
  }));
  t.after(writing.close);
  await app.add('writing', { base_url: writing.url });

  const send = async (name: string, isModern: boolean, accept: string) => {
    const modern = modernRequest('tools/call', { name: `writing__${name}`, arguments: {} });
    const legacy = { jsonrpc: '2.0', id: 'ключ', method: 'tools/call', params: { name: `writing__${name}` } };
    const headers = {
      authorization: `Bearer ${app.adminToken}`,
      'content-type': 'application/json',
      ...(isModern ? modern.headers : session.headers),
      accept,
    };
    const body = JSON.stringify(isModern ? modern.message : legacy);
    return await (await fetch(`${app.url}/mcp`, { method: 'POST', headers, body })).text();
  };
  for (const isModern of [false, true]) {
    for (const name of ['short', 'long']) {
      const answer = await send(name, isModern, 'application/json, text/event-stream');
      assert.ok(answer.includes(`"content":${content},"structuredContent":${structured}`), answer.slice(0, 500));
      const { id, result } = JSON.parse(answer);
      assert.equal(result.long, name === 'long' ? long : undefined);
      if (!isModern) assert.equal(id, 'ключ');
    }
  }
  // What stands in several lines is one event all the same.
  const streamed = await send('short', false, 'text/event-stream');
  assert.ok(streamed.includes(`"structuredContent":${structured.replace('\n', ' ')}`), streamed);
  const data = streamed.split('\n').findLast((line) => line.startsWith('data: {')) ?? '';
  assert.equal(JSON.parse(data.slice('data: '.length)).result.structuredContent.price, 1);
});
