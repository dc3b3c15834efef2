import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../src/errors.ts';
import { type QueryDeps, runQuery } from '../../src/query/query.ts';
import { presentOutput } from '../../src/query/query-output.ts';
import { queryOutputSchema, queryTool } from '../../src/query/query-tool.ts';
import { AllServersFailedError, QueryInputError } from '../../src/query/request.ts';
import { type Answering, depsFor, inputSchema, saying, searching, text } from './servers.ts';

const live = new AbortController().signal;

function deps(answers: Record<string, Answering>, extra: Partial<QueryDeps> = {}): QueryDeps {
  const servers = Object.entries(answers).map(([name, answer]) => [name, searching(answer)]);
  return depsFor(Object.fromEntries(servers), extra);
}

const never: Answering = () => new Promise(() => {});
const hooks = 'React hooks let a function component hold state: useState returns the value and a function to set it.';
const nearHooks =
  'React hooks let a function component hold state. useState returns the value and a function to set it!';

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => assert.fail('should have failed'),
    (error) => error,
  );
}

test('Q-001: the input schema, with our optional extras', () => {
  const { properties, ...rest } = queryTool.inputSchema as { properties: Record<string, unknown> };
  const { query, maxResults, servers, ...extras } = properties;
  assert.deepEqual(
    { ...rest, properties: { query, maxResults, servers } },
    {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          description: 'The user prompt or question to search for across MCP servers',
          minLength: 1,
          maxLength: 10000,
        },
        maxResults: {
          type: 'integer',
          description: 'Maximum number of results to return (default: 30)',
          minimum: 10,
          maximum: 100,
          default: 30,
        },
        servers: {
          type: 'array',
          description: 'Optional list of specific servers to query (default: all configured)',
          items: { type: 'string' },
        },
      },
      required: ['query'],
    },
  );
  assert.deepEqual(Object.keys(extras), ['max_tokens', 'rerank', 'plan', 'full', 'compact', 'explain']);
  assert.equal(queryTool.name, 'mcp__proxy__aggregator__query');
});

test('Q-002: the output schema has every field, with its type and bounds', () => {
  const output = queryTool.outputSchema as {
    required: string[];
    properties: {
      results: { items: { properties: Record<string, unknown>; required: string[] } };
      metadata: { properties: Record<string, unknown>; required: string[] };
    };
  };
  assert.deepEqual(output.required, ['results', 'metadata']);
  const result = output.properties.results.items;
  assert.deepEqual(result.required, ['content', 'server', 'relevanceScore', 'rank']);
  assert.deepEqual(result.properties.relevanceScore, {
    type: 'number',
    description: 'Relevance score (0.0 to 1.0)',
    minimum: 0,
    maximum: 1,
  });
  assert.deepEqual(result.properties.rank, {
    type: 'integer',
    description: 'Ranking position (1 = most relevant)',
    minimum: 1,
  });
  assert.deepEqual(result.properties.timestamp, {
    type: 'string',
    format: 'date-time',
    description: 'When this result was retrieved',
  });
  const metadata = output.properties.metadata;
  assert.deepEqual(metadata.required, ['serversQueried', 'serversSucceeded', 'resultsReturned', 'processingTimeMs']);
  assert.deepEqual(metadata.properties.serversQueried, { type: 'integer', description: 'Number of servers queried' });
  assert.deepEqual(metadata.properties.serverDiversity, {
    type: 'number',
    description: 'Proportion of queried servers that contributed results',
    minimum: 0,
    maximum: 1,
  });
});

test('Q-003: every bad value of every parameter is -32602 with field and reason', async () => {
  const bad: [unknown, string, string][] = [
    [undefined, 'arguments', 'Must be an object, got a undefined'],
    [null, 'arguments', 'Must be an object, got null'],
    ['x', 'arguments', 'Must be an object, got "x"'],
    [[], 'arguments', 'Must be an object, got an array'],
    [{}, 'query', 'Is required'],
    [{ query: 3 }, 'query', 'Must be a string, got 3'],
    [{ query: null }, 'query', 'Must be a string, got null'],
    [{ query: '' }, 'query', 'Must be between 1 and 10000 characters, got 0'],
    [{ query: '  \n' }, 'query', 'Must contain more than white space'],
    [{ query: 'x'.repeat(10_001) }, 'query', 'Must be between 1 and 10000 characters, got 10001'],
    [{ query: 'x', maxResults: 500 }, 'maxResults', 'Must be between 10 and 100, got 500'],
    [{ query: 'x', maxResults: 9 }, 'maxResults', 'Must be between 10 and 100, got 9'],
    [{ query: 'x', maxResults: 10.5 }, 'maxResults', 'Must be an integer, got 10.5'],
    [{ query: 'x', maxResults: '30' }, 'maxResults', 'Must be an integer, got "30"'],
    [{ query: 'x', maxResults: Number.NaN }, 'maxResults', 'Must be an integer, got NaN'],
    [{ query: 'x', maxResults: null }, 'maxResults', 'Must be an integer, got null'],
    [{ query: 'x', servers: 'docs' }, 'servers', 'Must be an array, got "docs"'],
    [{ query: 'x', servers: ['a', 7] }, 'servers', 'Entry 2: Must be a string, got 7'],
    [{ query: 'x', servers: ['a', 'nowhere'] }, 'servers', 'Unknown server "nowhere"'],
    [{ query: 'x', max_tokens: 5 }, 'max_tokens', 'Must be between 100 and 200000, got 5'],
    [{ query: 'x', max_tokens: 'many' }, 'max_tokens', 'Must be an integer, got "many"'],
    [{ query: 'x', rerank: 'llm' }, 'rerank', 'Must be one of "local", "model", got "llm"'],
    [{ query: 'x', rerank: true }, 'rerank', 'Must be one of "local", "model", got true'],
    [{ query: 'x', plan: 'llm' }, 'plan', 'Must be one of "local", "model", got "llm"'],
    [{ query: 'x', compact: 1 }, 'compact', 'Must be true or false, got 1'],
    [{ query: 'x', explain: 'yes' }, 'explain', 'Must be true or false, got "yes"'],
  ];
  for (const [input, field, reason] of bad) {
    const error = await failureOf(runQuery(deps({ a: saying(hooks) }), input, live));
    assert.ok(error instanceof QueryInputError, JSON.stringify(input));
    assert.equal(error.rpcCode, -32602);
    assert.equal(error.message, 'Invalid query parameters');
    assert.deepEqual(error.data, { field, reason });
  }
});

test('Q-004: all servers failed is -32603 with attemptedServers and errors', async () => {
  const refused: Answering = async () => {
    throw new Error('connection refused');
  };
  const failing = deps({ context7: never, serena: refused }, { limits: { serverTimeoutMs: 50 } });
  const error = await failureOf(runQuery(failing, { query: 'docs' }, live));
  assert.ok(error instanceof AllServersFailedError);
  assert.equal(error.rpcCode, -32603);
  assert.equal(error.message, 'Aggregation failed: all servers unavailable');
  assert.deepEqual(error.data, {
    attemptedServers: ['context7', 'serena'],
    errors: ['context7: timeout after 0.05s', 'serena: connection refused'],
  });
  const none = await failureOf(runQuery(deps({}), { query: 'docs' }, live));
  assert.ok(none instanceof AllServersFailedError);
  assert.deepEqual(none.data, { attemptedServers: [], errors: ['no server is connected'] });
});

const byServer = (a: { server: string }, b: { server: string }) => (a.server < b.server ? -1 : 1);

test('Q-007, Q-009, Q-010: partial results, merged with all sources, attributed, with metadata that adds up', async () => {
  const broken: Answering = async () => ({ isError: true, content: [{ type: 'text', text: 'quota exceeded' }] });
  const asked = deps(
    {
      docs: saying(hooks, 'Class components hold state without hooks.'),
      guide: saying(nearHooks),
      hanging: never,
      broken,
    },
    { limits: { serverTimeoutMs: 1_000 } },
  );
  const output = queryOutputSchema.parse(await runQuery(asked, { query: 'React hooks state' }, live));
  const [first, second] = output.results;
  assert.equal(first?.content, `Hit 0\n${hooks}`);
  assert.deepEqual(
    first?.sources?.map((source) => source.server),
    ['docs', 'guide'],
  );
  assert.equal(second?.content, 'Hit 1\nClass components hold state without hooks.');
  assert.ok((first?.relevanceScore ?? 0) > (second?.relevanceScore ?? 0));
  const { metadata } = output;
  assert.equal(metadata.serversQueried, 4);
  assert.equal(metadata.serversSucceeded, 2);
  assert.equal(metadata.totalResultsRaw, 3);
  assert.equal(metadata.totalResultsDedup, 2);
  assert.equal(metadata.resultsReturned, output.results.length);
  assert.equal(metadata.serverDiversity, 0.5);
  assert.deepEqual(
    metadata.servers?.map(({ server, ok, items, error }) => ({ server, ok, items, error })).toSorted(byServer),
    [
      { server: 'broken', ok: false, items: 0, error: 'quota exceeded' },
      { server: 'docs', ok: true, items: 2, error: undefined },
      { server: 'guide', ok: true, items: 1, error: undefined },
      { server: 'hanging', ok: false, items: 0, error: 'timeout after 1s' },
    ],
  );
});

test('Q-008: the same results give the same ranking, whoever answers first', async () => {
  const texts = Array.from(
    { length: 12 },
    (_, i) => `Entry ${i} about state and hooks. ${'detail '.repeat(i % 4)}${i * 7}`,
  );
  const after =
    (turns: number, answering: Answering): Answering =>
    async (args, signal) => {
      for (let i = 0; i < turns; i++) await Promise.resolve();
      return answering(args, signal);
    };
  const order = async (a: number, b: number): Promise<string[]> => {
    const asked = deps({ a: after(a, saying(...texts.slice(0, 7))), b: after(b, saying(...texts.slice(5))) });
    const output = await runQuery(asked, { query: 'hooks and state' }, live);
    return output.results.map((result) => `${result.server} ${result.relevanceScore} ${result.content}`);
  };
  assert.deepEqual(await order(0, 50), await order(50, 0));
});

test('explain returns the plan and calls nothing', async () => {
  const asked = deps({ docs: () => assert.fail('called') });
  const output = queryOutputSchema.parse(await runQuery(asked, { query: 'hooks', explain: true }, live));
  assert.deepEqual(output.results, []);
  assert.equal(output.metadata.serversQueried, 0);
  assert.deepEqual(output.plan?.[0]?.calls[0]?.arguments, { query: 'hooks' });
});

test('a named server that is not connected is a failure; one without a reader is skipped and says why', async () => {
  const asked = depsFor({
    up: searching(saying(hooks)),
    down: { ...searching(never), unavailable: 'not connected: ERROR' },
    writer: { tools: [{ name: 'create_note', inputSchema, answer: () => assert.fail('called') }] },
  });
  const named = { query: 'hooks', servers: ['up', 'down', 'writer'] };
  const { metadata } = await runQuery(asked, named, live);
  assert.equal(metadata.serversQueried, 2);
  assert.equal(metadata.servers?.find(({ server }) => server === 'down')?.error, 'not connected: ERROR');
  const reason = 'it has no read-only tools or resources for a query; add tools to query_readers or query_tools';
  assert.deepEqual(metadata.skipped, [{ server: 'writer', reason }]);
  // Of all servers, the one that is not connected is left out and says so, and both count for the diversity.
  const all = await runQuery(asked, { query: 'hooks' }, live);
  assert.deepEqual(all.metadata.skipped?.map(({ server }) => server).toSorted(), ['down', 'writer']);
  assert.equal(all.metadata.serverDiversity, 0.3333);
});

test('Q-004: that no server can be asked is an answer that says what to do; that all failed is an error', async () => {
  const writer = { tools: [{ name: 'create_note', inputSchema, answer: () => assert.fail('called') }] };
  const { results, metadata } = await runQuery(depsFor({ writer }), { query: 'hooks' }, live);
  assert.deepEqual([results, metadata.serversQueried], [[], 0]);
  assert.match(metadata.warnings?.[0] ?? '', /^No connected server can be queried\. .*query_tools/);
  const away = depsFor({ docs: { ...searching(never), unavailable: 'not connected: ERROR' } });
  const error = await failureOf(runQuery(away, { query: 'hooks' }, live));
  assert.ok(error instanceof AllServersFailedError);
  assert.deepEqual(error.data.errors, ['docs: not connected: ERROR']);
});

test('Q-013: every server that can be asked is asked, also beyond ten', async () => {
  const names = Array.from({ length: 26 }, (_, i) => `server-${i}`);
  const fact = 'The spare key to the boat house hangs behind the blue door.';
  const servers = names.map((name) => [name, searching(saying(name === 'server-23' ? fact : 'Nothing of note here.'))]);
  const { results, metadata } = await runQuery(
    depsFor(Object.fromEntries(servers)),
    { query: 'where is the spare key to the boat house' },
    live,
  );
  assert.equal(metadata.serversQueried, 26);
  assert.equal(results[0]?.server, 'server-23');
});

test('a tool that keeps failing is asked less, and the metadata says so', async () => {
  let calls = 0;
  const broken: Answering = async () => {
    calls += 1;
    throw new Error('the index is gone');
  };
  const asked = deps({ docs: saying(hooks), broken });
  for (const word of ['one', 'two', 'three']) await runQuery(asked, { query: `hooks ${word}` }, live);
  const before = calls;
  const { metadata } = await runQuery(asked, { query: 'hooks' }, live);
  assert.equal(calls, before);
  const reason = 'paused because these tools kept failing: search_docs';
  assert.deepEqual(metadata.skipped, [{ server: 'broken', reason }]);
});

test('the answer is compact where its account would be larger than what it replaces, or where the caller wants it', async () => {
  const short = deps({ docs: saying(hooks), empty: async () => text('') });
  const wordy = await runQuery(short, { query: 'react hooks state' }, live);
  const small = presentOutput(wordy, undefined);
  assert.deepEqual([small.metadata.servers, small.results[0]?.timestamp], [undefined, undefined]);
  assert.equal(small.metadata.serversQueried, 2);
  assert.equal(presentOutput(wordy, false).metadata.servers?.length, 2);
  assert.ok(JSON.stringify(small).length < JSON.stringify(wordy).length / 2);
  const long = deps({
    docs: saying(hooks, ...Array.from({ length: 40 }, (_, i) => `Page ${i}. ${'word '.repeat(60)}`)),
  });
  const full = await runQuery(long, { query: 'react hooks state' }, live);
  assert.equal(presentOutput(full, undefined).metadata.servers?.length, 1);
  const compact = presentOutput(full, true);
  assert.deepEqual(
    compact.results.map(({ content }) => content),
    full.results.map(({ content }) => content),
  );
  queryOutputSchema.parse(compact);
});

test('many sources of one result are capped, and the rest is counted', async () => {
  const servers = Array.from({ length: 9 }, (_, i) => [`server-${i}`, searching(saying(hooks))]);
  const { results } = await runQuery(depsFor(Object.fromEntries(servers)), { query: 'react hooks' }, live);
  assert.deepEqual([results[0]?.sources?.length, results[0]?.moreSources], [5, 4]);
});

test('when the client goes away the calls are aborted and the query ends', async () => {
  const client = new AbortController();
  let aborted = false;
  const hanging: Answering = (_args, signal) => {
    signal.addEventListener('abort', () => {
      aborted = true;
    });
    queueMicrotask(() => client.abort());
    return new Promise(() => {});
  };
  const error = await failureOf(runQuery(deps({ hanging }), { query: 'x' }, client.signal));
  assert.ok(error instanceof AppError);
  assert.equal(error.code, 'CALL_CANCELLED');
  assert.equal(aborted, true);
});

test('Q-005: all servers are asked at once', async () => {
  let running = 0;
  const together = Promise.withResolvers<void>();
  const waiting: Answering = async () => {
    running++;
    if (running === 3) together.resolve();
    await together.promise;
    return { content: [{ type: 'text', text: 'done' }] };
  };
  const output = await runQuery(deps({ a: waiting, b: waiting, c: waiting }), { query: 'x' }, live);
  assert.equal(output.metadata.serversSucceeded, 3);
});

test('Q-014: a server that answers 50 MB is cut, marked, and leaves room for the others', async () => {
  const huge: Answering = async () => ({
    content: [
      {
        type: 'text',
        text: JSON.stringify(
          Array.from({ length: 50_000 }, (_, i) => ({ title: `T${i}`, text: `${i} words `.repeat(100) })),
        ),
      },
    ],
  });
  const patient = { limits: { serverTimeoutMs: 60_000, totalTimeoutMs: 60_000 } };
  const asked = deps({ huge, docs: saying(hooks) }, patient);
  const { results, metadata } = await runQuery(asked, { query: 'React hooks' }, live);
  assert.equal(metadata.truncated, true);
  assert.equal(metadata.servers?.[0]?.calls[0]?.truncated, true);
  assert.equal(results[0]?.server, 'docs');
  assert.ok((metadata.totalResultsDedup ?? 0) <= 400);
});

test('Q-011: max_tokens bounds the content, and the best result is cut rather than left out', async () => {
  const texts = Array.from({ length: 40 }, (_, i) => `Number ${i} says hooks keep state. ${`filler${i} `.repeat(40)}`);
  const asked = deps({ docs: saying(...texts) });
  const small = await runQuery(asked, { query: 'hooks', max_tokens: 1000 }, live);
  assert.ok(small.results.length >= 2 && small.results.length < 30);
  assert.ok((small.metadata.tokensReturned ?? 0) <= 1000);
  assert.ok((small.metadata.tokensRaw ?? 0) > 2000);
  const long = deps({ docs: saying(Array.from({ length: 900 }, (_, i) => `word${i}`).join(' ')) });
  const cut = await runQuery(long, { query: 'word1', max_tokens: 100 }, live);
  assert.equal(cut.results.length, 1);
  assert.ok((cut.metadata.tokensReturned ?? 0) <= 100);
  assert.match(cut.results[0]?.content ?? '', /…$/);
});

test('Q-011: maxResults bounds the list, 30 where nothing is said', async () => {
  const asked = deps(
    { docs: saying(...Array.from({ length: 60 }, (_, i) => `Locker ${i} of the boat house holds ${i * 31} ropes`)) },
    { threshold: 1 },
  );
  assert.equal(
    (await runQuery(asked, { query: 'which locker of the boat house holds ropes' }, live)).results.length,
    30,
  );
  assert.equal(
    (await runQuery(asked, { query: 'which locker of the boat house holds ropes', maxResults: 10 }, live)).results
      .length,
    10,
  );
});

test('ten equally good items of one server do not come before every other server', async () => {
  const many = Array.from({ length: 12 }, (_, i) => `hooks hold state ${'qrstuvwxyzab'[i]?.repeat(20)}`);
  const asked = deps({ a: saying(...many), b: saying(`hooks hold state ${'m'.repeat(20)}`) });
  const { results } = await runQuery(asked, { query: 'hooks state' }, live);
  assert.ok(results.slice(0, 5).some((result) => result.server === 'b'));
});

test('Q-018: long results are shortened to what matters, every distinct one stays; full returns them whole', async () => {
  const gossip = (n: number, count: number) =>
    Array.from(
      { length: count },
      (_, i) => `The ${(n * 7919 + i * 104_729).toString(36)} garden is ${n ** 5 % (i + 7)}. `,
    );
  const page = (n: number) =>
    `${gossip(n, 60).join('')}React hooks of kind ${n} hold state. ${gossip(n + 50, 80).join('')}`.trim();
  const two = deps({ a: saying(...[1, 2, 3, 4].map(page)), b: saying(...[3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map(page)) });
  const short = await runQuery(two, { query: 'react hooks state' }, live);
  const whole = await runQuery(two, { query: 'react hooks state', full: true }, live);
  const kinds = ({ results }: typeof short) => results.map(({ content }) => /kind (\d+)/.exec(content)?.[1]);
  assert.deepEqual(kinds(short), kinds(whole), 'the same results in the same order');
  assert.equal(short.results.length, short.metadata.totalResultsDedup);
  assert.deepEqual([short.metadata.resultsCondensed, whole.metadata.resultsCondensed], [short.results.length, 0]);
  assert.ok(short.results.every(({ condensed }) => condensed === true));
  assert.ok((short.metadata.tokensReturned ?? 0) < 0.4 * (whole.metadata.tokensReturned ?? 0));
  assert.equal(short.metadata.tokensRaw, whole.metadata.tokensRaw);
  const budget = { query: 'react hooks state', max_tokens: 1000 };
  const fitting = await runQuery(two, budget, live);
  const fewer = await runQuery(two, { ...budget, full: true }, live);
  assert.ok(fitting.results.length > fewer.results.length);
  queryOutputSchema.parse(short);
});
