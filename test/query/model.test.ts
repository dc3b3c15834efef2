import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { createModel, type Model } from '../../src/model.ts';
import { type ContextDeps, collectContext } from '../../src/query/context-agent.ts';
import { contextOutputSchema, contextTool } from '../../src/query/context-tool.ts';
import { type QueryDeps, runQuery } from '../../src/query/query.ts';
import { QueryInputError } from '../../src/query/request.ts';
import { rerank } from '../../src/query/rerank.ts';
import { depsFor, inputSchema, type ServerOfTest, text, toolSchema } from './servers.ts';

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

type FakeModel = Model & { sent: SentRequest[] };

/** A loopback server that speaks the Messages API and answers with what `reply` makes of each request. */
async function startModel(reply: (sent: SentRequest, turn: number) => unknown): Promise<FakeModel> {
  const sent: SentRequest[] = [];
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as SentRequest['body'];
    sent.push({ headers: request.headers, body });
    const answer = reply({ headers: request.headers, body }, sent.length);
    if (answer === 'hang') return;
    const status = typeof answer === 'number' ? answer : 200;
    // The SDK tries again unless it is told not to.
    response.writeHead(status, { 'content-type': 'application/json', 'x-should-retry': 'false' });
    response.end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const model = createModel({ baseUrl: `http://127.0.0.1:${address.port}`, apiKey: 'test-key', name: 'model-1' });
  return { ...model, sent };
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

const texts = [
  'Cheese is made from milk and kept in cool cellars.',
  'Goat cheese ripens for three weeks on straw mats.',
  'Cheese with holes is turned twice a week by hand.',
];

const food: ServerOfTest = {
  tools: [
    {
      name: 'search',
      description: 'Semantic search',
      inputSchema,
      answer: async () => ({ structuredContent: { results: texts } }),
    },
    { name: 'delete_food', inputSchema, answer: () => assert.fail('a tool that writes was called') },
  ],
};

const deps = (model?: Model): QueryDeps => depsFor({ food }, { model });
const agentDeps = (model: Model): ContextDeps => ({ ...deps(), model });

suite('rerank: "model"', () => {
  async function ranked(answer: unknown) {
    const model = await startModel(() => answer);
    const output = await runQuery(deps(model), { query: 'cheese', rerank: 'model' }, live);
    return { ...output, model };
  }

  test('reorders, condenses and leaves out; scores still fall with the rank', async () => {
    const condensed = 'Goat cheese ripens on straw.';
    const local = await runQuery(deps(), { query: 'cheese' }, live);
    const goat = local.results.findIndex(({ content }) => content.startsWith('Goat')) + 1;
    const holes = local.results.findIndex(({ content }) => content.startsWith('Cheese with')) + 1;
    const { results, metadata, model } = await ranked(
      uses('rank_results', { ranking: [{ id: holes }, { id: goat, condensed }] }),
    );
    assert.equal(metadata.ranking, 'model');
    assert.deepEqual(
      results.map(({ content }) => content),
      [texts[2], condensed],
    );
    assert.equal(results[1]?.condensed, true);
    assert.ok((results[0]?.relevanceScore ?? 0) >= (results[1]?.relevanceScore ?? 0));
    assert.equal(model.sent[0]?.headers.authorization, 'Bearer test-key');
    assert.equal(model.sent[0]?.body.model, 'model-1');
  });

  const unusable: [string, unknown, RegExp][] = [
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
    ['something else', { hello: 'world' }, /sent an invalid response/],
  ];
  for (const [name, answer, warning] of unusable) {
    test(`${name} from the model falls back to the local ranking and says so`, async () => {
      const { results, metadata } = await ranked(answer);
      const local = await runQuery(deps(), { query: 'cheese' }, live);
      assert.equal(metadata.ranking, 'local');
      assert.match(metadata.warnings?.[0] ?? '', warning);
      assert.deepEqual(
        results.map((result) => result.content),
        local.results.map((result) => result.content),
      );
    });
  }

  test('silence is not waited for', async () => {
    const model = await startModel(() => 'hang');
    assert.deepEqual(await rerank(model, 'cheese', [], live, 100), { ok: false, reason: 'no answer within 100 ms' });
  });

  test('Q-016: without a model the order is local and says so', async () => {
    const { metadata } = await runQuery(deps(), { query: 'cheese', rerank: 'model' }, live);
    assert.deepEqual(metadata.warnings, ['No model is configured: ranked locally.']);
  });
});

suite('plan: "model"', () => {
  const statements: string[] = [];
  const tables: ServerOfTest = {
    tools: [
      {
        name: 'read_query',
        description: 'Execute a SELECT query',
        inputSchema: toolSchema({ query: { type: 'string', description: 'SELECT SQL query' } }, ['query']),
        async answer({ query }) {
          statements.push(String(query));
          return text(String(query).startsWith('SELECT AVG') ? "[{'AVG(price)': 41.5}]" : '[]');
        },
      },
    ],
  };
  const request = { query: 'what do our cheeses cost on average', plan: 'model' };
  const planned = (...calls: object[]) => uses('plan_calls', { calls });
  const average = { server: 'shop', tool: 'read_query', arguments: { query: 'SELECT AVG(price) FROM cheese' } };
  const ask = async (reply: unknown, more: object = {}) => {
    statements.length = 0;
    const model = await startModel(() => reply);
    return { ...(await runQuery(depsFor({ shop: tables, food }, { model }), { ...request, ...more }, live)), model };
  };

  test('what the model fills in is called first, and its answer counts', async () => {
    const { results, metadata, model } = await ask(planned(average));
    assert.equal(statements[0], average.arguments.query);
    assert.ok(results.some(({ content }) => content.includes('41.5')));
    assert.deepEqual(metadata.warnings, []);
    const prompt = JSON.stringify(model.sent[0]?.body.messages);
    assert.ok(prompt.includes('read_query') && !prompt.includes('delete_food'), 'tools that write are not even shown');
    assert.match(prompt, /Today is \d{4}-\d\d-\d\d/);
  });

  for (const [what, call, reason] of [
    ['a tool that writes', { server: 'food', tool: 'delete_food', arguments: { query: 'x' } }, /only reads/],
    ['an unknown server', { ...average, server: 'nowhere' }, /only reads/],
    ['arguments that do not fit', { ...average, arguments: { query: 7 } }, /arguments\.query must be string/],
    ['a missing argument', { ...average, arguments: {} }, /arguments\.query is required/],
    ['a statement that writes', { ...average, arguments: { query: 'DELETE FROM cheese' } }, /more than select/],
    [
      'a writing statement behind a select',
      { ...average, arguments: { query: 'SELECT 1; DROP TABLE cheese' } },
      /more than select/,
    ],
  ] as const) {
    test(`${what} is refused, named, and the rest of the plan stands`, async () => {
      const { metadata, results } = await ask(planned(call, average));
      assert.match(metadata.warnings?.[0] ?? '', reason);
      assert.ok(results.some(({ content }) => content.includes('41.5')));
      assert.ok(statements.every((statement) => statement.startsWith('SELECT')));
    });
  }

  for (const [what, reply, reason] of [
    ['is down', 503, /answered 503/],
    ['answers nonsense', uses('plan_calls', { steps: [] }), /not a plan/],
  ] as const) {
    test(`when the model ${what}, the local plan answers and says so`, async () => {
      const { results, metadata } = await ask(reply, { query: 'how long does goat cheese ripen' });
      assert.match(metadata.warnings?.[0] ?? '', reason);
      assert.equal(results[0]?.content, texts[1]);
    });
  }

  test('without a model and without sampling the plan is local and says so', async () => {
    const { metadata } = await runQuery(deps(), request, live);
    assert.match(metadata.warnings?.[0] ?? '', /does not support sampling: planned locally/);
  });
});

suite('context agent', () => {
  test('Q-017: asks all servers by their strategies, reads, and answers with citations and a trace', async () => {
    const model = await startModel((_sent, turn) => {
      if (turn === 1) return uses('ask_servers', { query: 'how is cheese made' });
      if (turn === 2) return uses('search_tools', { query: 'food' });
      if (turn === 3) return uses('call_tool', { server: 'food', tool: 'search', arguments: { query: 'cheese' } });
      return uses('give_context', { context: 'Cheese comes from milk [S1, S4]. It flies [S99].' });
    });
    const output = contextOutputSchema.parse(await collectContext(agentDeps(model), { query: 'cheese' }, live));
    assert.equal(output.context, 'Cheese comes from milk [S1, S4]. It flies .');
    assert.deepEqual(
      output.citations.map(({ source, server, tool }) => ({ source, server, tool })),
      ['S1', 'S4'].map((source) => ({ source, server: 'food', tool: 'search' })),
    );
    assert.deepEqual(
      output.metadata.trace.map((step) => step.action),
      ['ask_servers', 'search_tools', 'call_tool', 'answer'],
    );
    assert.deepEqual([output.metadata.rounds, output.metadata.calls, output.metadata.inputTokens], [4, 2, 400]);
    assert.equal(output.metadata.endedBy, 'answer');
    const offered = JSON.stringify(model.sent[2]?.body.messages.at(-1));
    assert.ok(offered.includes('search') && !offered.includes('delete_food'), 'tools that write are not even shown');
  });

  test('a context without a mark is sent back once', async () => {
    const model = await startModel((_sent, turn) => {
      if (turn === 1) return uses('ask_servers', { query: 'cheese' });
      return uses('give_context', { context: turn === 2 ? 'Cheese comes from milk.' : 'Cheese comes from milk [S1].' });
    });
    const { context, citations, metadata } = await collectContext(agentDeps(model), { query: 'cheese' }, live);
    assert.equal(context, 'Cheese comes from milk [S1].');
    assert.deepEqual([citations.length, metadata.rounds], [1, 3]);
  });

  test('a resource is read and cited by its address', async () => {
    const uri = 'wiki://cheese';
    const resource = { uri, name: 'Cheese', description: '', text: texts[0] ?? '' };
    const model = await startModel((_sent, turn) =>
      turn === 1
        ? uses('read_resource', { server: 'wiki', uri })
        : uses('give_context', { context: 'Cheese is made from milk [S1].' }),
    );
    const wiki = { ...depsFor({ wiki: { resources: [resource] } }), model };
    const { citations } = await collectContext(wiki, { query: 'cheese' }, live);
    assert.deepEqual(
      citations.map(({ server, tool }) => [server, tool]),
      [['wiki', uri]],
    );
  });

  test('a tool that writes, one that does not exist and wrong arguments are refused', async () => {
    const model = await startModel((_sent, turn) => {
      if (turn === 1) return uses('call_tool', { server: 'food', tool: 'delete_food', arguments: { query: 'x' } });
      if (turn === 2) return uses('call_tool', { server: 'nowhere', tool: 'search', arguments: { query: 'x' } });
      if (turn === 3) return uses('call_tool', { server: 'food', tool: 'search', arguments: { query: 3 } });
      if (turn === 4) return uses('launch', {});
      return uses('give_context', { context: 'nothing' });
    });
    const { metadata } = await collectContext(agentDeps(model), { query: 'x' }, live);
    assert.equal(metadata.calls, 0);
    assert.deepEqual(
      metadata.trace.map((step) => step.action),
      ['refused', 'refused', 'refused', 'refused', 'answer'],
    );
  });

  for (const [bound, contextLimits, expected] of [
    ['rounds', { rounds: 2 }, { rounds: 3, calls: 2 }],
    ['calls', { calls: 1 }, { rounds: 2, calls: 1 }],
    ['tokens', { tokens: 100 }, { rounds: 2, calls: 1 }],
  ] as const) {
    test(`Q-017: is bounded in ${bound}, and then asked for its answer`, async () => {
      const model = await startModel((sent) =>
        sent.body.tool_choice === undefined
          ? uses('call_tool', { server: 'food', tool: 'search', arguments: { query: 'x' } })
          : uses('give_context', { context: 'done [S1]' }),
      );
      const output = await collectContext({ ...agentDeps(model), contextLimits }, { query: 'x' }, live);
      assert.equal(output.metadata.endedBy, bound);
      assert.equal(output.metadata.rounds, expected.rounds);
      assert.equal(output.metadata.calls, expected.calls);
      assert.equal(output.context, 'done [S1]');
    });
  }

  const reading = uses('call_tool', { server: 'food', tool: 'search', arguments: { query: 'x' } });
  for (const [how, reply, error] of [
    ['is down', () => 503, { code: 'MODEL_UNAVAILABLE', message: 'the model API answered 503' }],
    ['fails in the middle', (turn: number) => (turn === 1 ? reading : 529), { code: 'MODEL_UNAVAILABLE' }],
    ['never gives a context', () => reading, { message: 'the model gave no context' }],
    ['hangs', (turn: number) => (turn === 1 ? reading : 'hang'), { code: 'EXECUTION_TIMEOUT' }],
  ] as const) {
    test(`a model that ${how} is an error, not an empty context`, async () => {
      const model = await startModel((_sent, turn) => reply(turn));
      const contextLimits = { timeMs: how === 'hangs' ? 300 : 10_000 };
      await assert.rejects(collectContext({ ...agentDeps(model), contextLimits }, { query: 'x' }, live), error);
    });
  }

  test('a hanging tool is reported to the model', async () => {
    const model = await startModel((_sent, turn) =>
      turn === 1 ? reading : uses('give_context', { context: 'nothing found' }),
    );
    const hanging: ServerOfTest = {
      tools: [{ name: 'search', description: 'Search', inputSchema, answer: () => new Promise<never>(() => {}) }],
    };
    const asked = { ...depsFor({ food: hanging }), model, contextLimits: { callTimeoutMs: 50 } };
    const { metadata } = await collectContext(asked, { query: 'x' }, live);
    assert.match(metadata.trace[0]?.error ?? '', /timeout/);
  });

  test('bad requests name the field', async () => {
    const model = await startModel(() => 500);
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
});
