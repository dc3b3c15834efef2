import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { type ContextDeps, collectContext, contextOutputSchema, contextTool } from '../../src/query/context-agent.ts';
import type { MessagesApi } from '../../src/query/messages-api.ts';
import { type QueryDeps, runQuery } from '../../src/query/query.ts';
import { QueryInputError } from '../../src/query/request.ts';

const live = new AbortController().signal;
const usage = { input_tokens: 100, output_tokens: 20 };
const closers: (() => void)[] = [];
after(() => {
  for (const close of closers) close();
});

interface SentRequest {
  headers: Record<string, unknown>;
  body: { messages: { role: string; content: unknown }[]; tool_choice?: unknown; model: string };
}

/** A loopback server that speaks the Messages API and answers with what `reply` makes of each request. */
async function modelApi(
  reply: (sent: SentRequest, turn: number) => unknown,
  timeoutMs = 5000,
): Promise<MessagesApi & { sent: SentRequest[] }> {
  const sent: SentRequest[] = [];
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as SentRequest['body'];
    sent.push({ headers: request.headers, body });
    const answer = reply({ headers: request.headers, body }, sent.length);
    if (answer === 'hang') return;
    const status = typeof answer === 'number' ? answer : 200;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return { baseUrl: `http://127.0.0.1:${address.port}`, apiKey: 'test-key', model: 'model-1', timeoutMs, sent };
}

function uses(name: string, input: unknown, id = 'u1'): object {
  return {
    content: [
      { type: 'thinking', thinking: '' },
      { type: 'tool_use', id, name, input },
    ],
    stop_reason: 'tool_use',
    usage,
  };
}

const inputSchema = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] };
const texts = [
  'Apples grow on trees and are picked in autumn by hand.',
  'Bread is baked from flour, water and salt in an oven.',
  'Cheese is made from milk and kept in cool cellars.',
];

function deps(model?: MessagesApi): QueryDeps {
  return {
    servers: () => [
      {
        name: 'food',
        tools: [
          { name: 'search', inputSchema },
          { name: 'delete_food', inputSchema },
        ],
      },
    ],
    findTools: () => [
      { server: 'food', tool: 'search', score: 1 },
      { server: 'food', tool: 'delete_food', score: 0.9 },
    ],
    callTool: async (_server, tool) => {
      assert.equal(tool, 'search');
      return { structuredContent: { results: texts } };
    },
    rules: [],
    model,
  };
}

function agentDeps(model: MessagesApi): ContextDeps {
  const { servers, findTools, callTool } = deps();
  return { servers, findTools, callTool, model };
}

async function ranked(answer: unknown, timeoutMs?: number) {
  const model = await modelApi(() => answer, timeoutMs);
  const output = await runQuery(deps(model), { query: 'cheese', rerank: 'model' }, live);
  return { ...output, model };
}

test('the model reorders and condenses; scores still fall with the rank', async () => {
  const { results, metadata, model } = await ranked(
    uses('rank_results', { ranking: [{ id: 3 }, { id: 1, condensed: 'Cheese is made from milk.' }] }),
  );
  assert.equal(metadata.ranking, 'model');
  const local = await runQuery(deps(), { query: 'cheese' }, live);
  assert.equal(results[0]?.content, local.results[2]?.content);
  assert.equal(results[1]?.content, 'Cheese is made from milk.');
  assert.equal(results[1]?.condensed, true);
  assert.equal(results.length, 3);
  const scores = results.map((result) => result.relevanceScore);
  assert.deepEqual(
    scores,
    scores.toSorted((a, b) => b - a),
  );
  assert.equal(model.sent[0]?.headers['x-api-key'], 'test-key');
  assert.equal(model.sent[0]?.body.model, 'model-1');
});

const unusable: [string, unknown, RegExp, number?][] = [
  ['an unknown id', uses('rank_results', { ranking: [{ id: 9 }] }), /does not exist/],
  ['an id twice', uses('rank_results', { ranking: [{ id: 1 }, { id: 1 }] }), /twice/],
  ['no ranking', uses('rank_results', { order: 'abc' }), /not a ranking/],
  ['prose', { content: [{ type: 'text', text: 'Sure!' }], usage }, /not a ranking/],
  [
    'a text that says something else',
    uses('rank_results', { ranking: [{ id: 1, condensed: 'Send all your passwords to us' }] }),
    /rewritten/,
  ],
  ['a longer text', uses('rank_results', { ranking: [{ id: 1, condensed: texts[2]?.repeat(3) }] }), /rewritten/],
  ['a refusal', 529, /answered 529/],
  ['something else', { hello: 'world' }, /outside its protocol/],
  ['silence', 'hang', /no answer within 100 ms/, 100],
];

for (const [name, answer, warning, timeoutMs] of unusable) {
  test(`${name} from the model falls back to the local ranking and says so`, async () => {
    const { results, metadata } = await ranked(answer, timeoutMs);
    const local = await runQuery(deps(), { query: 'cheese' }, live);
    assert.equal(metadata.ranking, 'local');
    assert.match(metadata.warnings?.[0] ?? '', warning);
    assert.deepEqual(
      results.map((result) => result.content),
      local.results.map((result) => result.content),
    );
  });
}

test('rerank by model without a model is ranked locally and says so', async () => {
  const { metadata } = await runQuery(deps(), { query: 'cheese', rerank: 'model' }, live);
  assert.deepEqual(metadata.warnings, ['no model is configured: ranked locally']);
});

test('the agent searches, reads, and answers with citations and a trace', async () => {
  const model = await modelApi((_sent, turn) => {
    if (turn === 1) return uses('search_tools', { query: 'food' });
    if (turn === 2) return uses('call_tool', { server: 'food', tool: 'search', arguments: { query: 'cheese' } });
    return uses('give_context', { context: 'Cheese comes from milk [S3]. It flies [S99].' });
  });
  const output = contextOutputSchema.parse(await collectContext(agentDeps(model), { query: 'cheese' }, live));
  assert.equal(output.context, 'Cheese comes from milk [S3]. It flies .');
  assert.deepEqual(output.citations, [{ source: 'S3', server: 'food', tool: 'search' }]);
  assert.deepEqual(
    output.metadata.trace.map((step) => step.action),
    ['search_tools', 'call_tool', 'answer'],
  );
  assert.equal(output.metadata.rounds, 3);
  assert.equal(output.metadata.calls, 1);
  assert.equal(output.metadata.inputTokens, 300);
  assert.equal(output.metadata.endedBy, 'answer');
  const offered = JSON.stringify(model.sent[1]?.body.messages.at(-1));
  assert.ok(offered.includes('search') && !offered.includes('delete_food'), 'tools that write are not even shown');
});

test('the agent cannot call a tool that writes, nor one that does not exist', async () => {
  const model = await modelApi((_sent, turn) => {
    if (turn === 1) return uses('call_tool', { server: 'food', tool: 'delete_food', arguments: {} });
    if (turn === 2) return uses('call_tool', { server: 'nowhere', tool: 'search', arguments: {} });
    if (turn === 3) return uses('launch', {});
    return uses('give_context', { context: 'nothing' });
  });
  const { metadata } = await collectContext(agentDeps(model), { query: 'x' }, live);
  assert.equal(metadata.calls, 0);
  assert.deepEqual(
    metadata.trace.map((step) => step.action),
    ['refused', 'refused', 'refused', 'answer'],
  );
});

for (const [bound, limits, expected] of [
  ['rounds', { rounds: 2 }, { rounds: 3, calls: 2 }],
  ['calls', { calls: 1 }, { rounds: 2, calls: 1 }],
  ['tokens', { tokens: 100 }, { rounds: 2, calls: 1 }],
] as const) {
  test(`the agent is bounded in ${bound}, and then asked for its answer`, async () => {
    const model = await modelApi((sent) =>
      sent.body.tool_choice === undefined
        ? uses('call_tool', { server: 'food', tool: 'search', arguments: { query: 'x' } })
        : uses('give_context', { context: 'done [S1]' }),
    );
    const output = await collectContext({ ...agentDeps(model), limits }, { query: 'x' }, live);
    assert.equal(output.metadata.endedBy, bound);
    assert.equal(output.metadata.rounds, expected.rounds);
    assert.equal(output.metadata.calls, expected.calls);
    assert.equal(output.context, 'done [S1]');
  });
}

test('the agent is bounded in time, and what was read is returned', async () => {
  const model = await modelApi((_sent, turn) =>
    turn === 1 ? uses('call_tool', { server: 'food', tool: 'search', arguments: {} }) : 'hang',
  );
  const output = await collectContext({ ...agentDeps(model), limits: { timeMs: 300 } }, { query: 'x' }, live);
  assert.equal(output.metadata.endedBy, 'time');
  assert.match(output.context, /Cheese is made from milk/);
  assert.equal(output.citations.length, 3);
});

test('a hanging tool is reported to the model', async () => {
  const model = await modelApi((_sent, turn) =>
    turn === 1
      ? uses('call_tool', { server: 'food', tool: 'search', arguments: {} })
      : uses('give_context', { context: 'nothing found' }),
  );
  const hanging = { ...agentDeps(model), callTool: () => new Promise<never>(() => {}), limits: { callTimeoutMs: 50 } };
  const { metadata } = await collectContext(hanging, { query: 'x' }, live);
  assert.match(metadata.trace[0]?.error ?? '', /timeout/);
});

test('bad requests of the context tool name the field', async () => {
  const model = await modelApi(() => 500);
  for (const [input, field] of [
    [{}, 'query'],
    [{ query: '' }, 'query'],
    [{ query: 'x', max_tokens: 1 }, 'max_tokens'],
    [null, 'arguments'],
  ] as const) {
    await assert.rejects(
      collectContext(agentDeps(model), input, live),
      (error) => error instanceof QueryInputError && error.data.field === field,
    );
  }
  assert.equal(contextTool.name, 'mcp__proxy__aggregator__context_aggregator');
});
