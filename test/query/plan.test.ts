import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planServer } from '../../src/query/plan.ts';
import { isReadOnly } from '../../src/query/read-only.ts';
import { queryTools as queryToolsSchema } from '../../src/registry/server.ts';

const query = 'How do I cache responses?';

function schema(properties: Record<string, unknown>, required: string[] = []): object {
  return { type: 'object', properties, required };
}

function tool(name: string, properties: Record<string, unknown>, required: string[] = [], description = '') {
  return { name, description, inputSchema: schema(properties, required) };
}

const text = { type: 'string' };

test('which tools only read', () => {
  const reading = [
    { name: 'search_docs' },
    { name: 'getLibraryDocs' },
    { name: 'resolve-library-id' },
    { name: 'list_orders' },
    { name: 'get_post' },
    { name: 'find_deleted_items' },
    { name: 'wikipedia', description: 'Searches Wikipedia for a set of articles.' },
    { name: 'anything', annotations: { readOnlyHint: true } },
    { name: 'search_nodes', description: 'Search for nodes in the knowledge graph based on a query' },
  ];
  const writing = [
    { name: 'create_entities' },
    { name: 'get_or_create_user' },
    { name: 'post_message' },
    { name: 'send_email' },
    { name: 'order_pizza' },
    { name: 'search_and_replace' },
    { name: 'wikipedia' },
    { name: 'search_docs', annotations: { readOnlyHint: false } },
    { name: 'search_docs', annotations: { readOnlyHint: true, destructiveHint: true } },
    { name: 'delete_all', annotations: { readOnlyHint: true } },
    { name: 'find_user', description: 'Finds a user. Creates the user if there is none.' },
    { name: 'get_token', description: 'Get a token and charge the card.' },
    { name: 'query', description: 'Execute a statement' },
  ];
  for (const entry of reading) assert.equal(isReadOnly(entry), true, entry.name);
  for (const entry of writing) assert.equal(isReadOnly(entry), false, JSON.stringify(entry));
});

test('the query goes into the parameter meant for it, by name, description and type', () => {
  const cases: [Record<string, unknown>, string[], Record<string, unknown>][] = [
    [{ query: text, limit: { type: 'integer' } }, ['query'], { query }],
    [{ q: text }, [], { q: query }],
    [{ searchTerm: text }, ['searchTerm'], { searchTerm: query }],
    [{ text: { type: 'string', description: 'The question to answer' } }, ['text'], { text: query }],
    [{ queries: { type: 'array', items: text } }, ['queries'], { queries: [query] }],
    [{ query: { anyOf: [text, { type: 'null' }] } }, [], { query }],
    [
      { query: text, page_size: { type: 'integer', minimum: 1, maximum: 5 } },
      ['query', 'page_size'],
      { query, page_size: 5 },
    ],
    [{ query: text, lang: { enum: ['en', 'de'], default: 'en' } }, ['query', 'lang'], { query, lang: 'en' }],
    [{ query: text, kind: { enum: ['cache', 'queue'] } }, ['query', 'kind'], { query, kind: 'cache' }],
    [{ query: text, version: { const: 2 } }, ['query', 'version'], { query, version: 2 }],
    [{ query: text, after: { type: ['string', 'null'] } }, ['query', 'after'], { query, after: null }],
    [{ query: { type: 'string', maxLength: 12 } }, ['query'], { query: 'How do I' }],
  ];
  for (const [properties, required, expected] of cases) {
    const plan = planServer({ server: 's', query, tools: [tool('search', properties, required)] });
    assert.deepEqual(plan.calls[0]?.arguments, expected, JSON.stringify(properties));
  }
});

test('no safe filling, no candidate', () => {
  const cases: [Record<string, unknown>, string[]][] = [
    [{ query: text, owner: text }, ['query', 'owner']],
    [{ query: text, kind: { enum: ['issues', 'pulls'] } }, ['query', 'kind']],
    [{ query: text, strict: { type: 'boolean' } }, ['query', 'strict']],
    [{ query: text, issue_number: { type: 'integer' } }, ['query', 'issue_number']],
    [{ query: { type: 'string', description: 'SQL query to run' } }, ['query']],
    [{ query: { type: 'string', pattern: '^[A-Z]+$' } }, ['query']],
    [{ url: { type: 'string', format: 'uri' } }, ['url']],
    [{ id: text }, ['id']],
  ];
  for (const [properties, required] of cases) {
    const plan = planServer({ server: 's', query, tools: [tool('search', properties, required)] });
    assert.deepEqual(plan.calls, [], JSON.stringify(properties));
    assert.match(plan.leftOut[0]?.reason ?? '', /cannot be filled safely/);
  }
});

test('a sentence is not taken for a name, two words are', () => {
  const tools = [tool('find_country', { name: text }, ['name'])];
  assert.deepEqual(planServer({ server: 's', query: 'which countries have the most people in 2020', tools }).calls, []);
  assert.deepEqual(planServer({ server: 's', query: 'new zealand', tools }).calls[0]?.arguments, {
    name: 'new zealand',
  });
});

test('up to three tools of a server, those that search finds first; ties by name', () => {
  const tools = ['search_d', 'search_c', 'search_b', 'search_a'].map((name) => tool(name, { query: text }, ['query']));
  const plan = planServer({
    server: 's',
    query,
    tools,
    scores: new Map([
      ['search_d', 0.9],
      ['search_b', 0.4],
    ]),
  });
  assert.deepEqual(
    plan.calls.map((call) => call.tool),
    ['search_d', 'search_b', 'search_a'],
  );
  assert.deepEqual(plan.leftOut, [{ tool: 'search_c', reason: 'other tools of this server fit better' }]);
});

test('a tool that takes no query is not asked, and the plan says so', () => {
  const list = tool('list_notes', {});
  const alone = planServer({ server: 's', query, tools: [list] });
  assert.deepEqual([alone.calls, alone.leftOut], [[], [{ tool: 'list_notes', reason: 'takes no query' }]]);
  const both = planServer({ server: 's', query, tools: [list, tool('search_notes', { query: text }, ['query'])] });
  assert.deepEqual(
    both.calls.map((call) => call.tool),
    ['search_notes'],
  );
  const named = planServer({ server: 's', query, tools: [list], queryTools: [{ tool: 'list_notes', arguments: {} }] });
  assert.deepEqual(
    named.calls.map((call) => [call.tool, call.reason]),
    [['list_notes', 'named by query_tools']],
  );
});

test('a knowledge graph that finds only literal words is asked for each keyword', () => {
  const tools = [tool('search_nodes', { query: text }, ['query']), tool('open_nodes', { names: { type: 'array' } })];
  const { calls } = planServer({ server: 'memory', query: 'how do I configure the retry of requests?', tools });
  assert.deepEqual(
    calls.map((call) => call.arguments),
    [{ query: 'configure' }, { query: 'requests' }, { query: 'retry' }],
  );
});

test('a two-step server is asked by its recipe, with the parameters its version has', () => {
  const older = [
    tool('resolve-library-id', { libraryName: text }, ['libraryName'], 'Resolves a package name to a library ID.'),
    tool(
      'get-library-docs',
      { context7CompatibleLibraryID: text, topic: text, tokens: { type: 'number' } },
      ['context7CompatibleLibraryID'],
      'Fetches documentation.',
    ),
  ];
  const [call] = planServer({ server: 'context7', query: 'How do I use React hooks?', tools: older }).calls;
  assert.deepEqual(call?.arguments, { libraryName: 'use React hooks' });
  assert.deepEqual(call?.followUp?.arguments, { context7CompatibleLibraryID: '{{id}}', topic: '{{query}}' });

  const newer = [
    tool('resolve-library-id', { libraryName: text, query: text }, ['libraryName', 'query']),
    tool('query-docs', { libraryId: text, query: text }, ['libraryId', 'query']),
  ];
  assert.equal(planServer({ server: 'context7', query, tools: newer }).calls[0]?.followUp?.tool, 'query-docs');

  const other = [tool('search', { query: text }, ['query']), tool('fetch', { url: text }, ['url'])];
  assert.equal(
    planServer({ server: 's', query, tools: other }).calls[0]?.followUp,
    undefined,
    'same names, other parameters',
  );
});

test('query_tools decide alone, also for a tool that writes; a tool that is not there is reported', () => {
  const tools = [tool('run_report', { sql: text }, ['sql']), tool('search', { query: text }, ['query'])];
  assert.deepEqual(
    planServer({ server: 's', query, tools }).calls.map((call) => call.tool),
    ['search'],
  );
  const queryTools = queryToolsSchema.parse([
    { tool: 'run_report', arguments: { sql: "match '{{query}}'", tags: ['{{keywords}}', 1] } },
    { tool: 'gone' },
  ]);
  const plan = planServer({ server: 's', query, tools, queryTools });
  assert.deepEqual(
    plan.calls.map((call) => call.arguments),
    [{ sql: `match '${query}'`, tags: ['cache responses', 1] }],
  );
  assert.equal(plan.leftOut[0]?.tool, 'gone');
});

test('bad query_tools are refused', () => {
  for (const bad of [
    [{}],
    [{ tool: '' }],
    [{ tool: 'x', argument: {} }],
    [{ tool: 'x', follow_up: { tool: 'y' } }],
    'x',
    [{ tool: 'x', arguments: [] }],
  ]) {
    assert.equal(queryToolsSchema.safeParse(bad).success, false, JSON.stringify(bad));
  }
});

test('a tool without a usable schema is left alone', () => {
  for (const inputSchema of [undefined, null, 'x', [], { type: 'object', properties: 3, required: 'query' }]) {
    const plan = planServer({ server: 's', query, tools: [{ name: 'list_all', inputSchema }] });
    assert.deepEqual(plan.calls, []);
  }
});
