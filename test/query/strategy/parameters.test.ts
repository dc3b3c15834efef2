import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Parameter, type ParameterRole, readParameters } from '../../../src/query/strategy/parameters.ts';
import { singular } from '../../../src/similarity/stem.ts';

type Schema = Record<string, unknown>;

const text: Schema = { type: 'string' };
const integer: Schema = { type: 'integer' };
const said = (description: string, more: Schema = {}): Schema => ({ type: 'string', description, ...more });

/** Of one parameter of a tool that says nothing else. */
function parameter(name: string, schema: Schema, ofTool = ''): Parameter {
  const [own] = readParameters({ properties: { [name]: schema } }, { said: ofTool, namesFolders: false });
  assert.ok(own !== undefined, name);
  return own;
}

const role = (name: string, schema: Schema, ofTool?: string): ParameterRole => parameter(name, schema, ofTool).role;

function assertRoles(cases: readonly (readonly [string, Schema, Partial<ParameterRole>])[]): void {
  for (const [name, schema, expected] of cases)
    assert.partialDeepStrictEqual(role(name, schema), expected, `${name}: ${JSON.stringify(schema)}`);
}

test('words: parameters meant for a query, and how the tool finds them', () => {
  for (const name of ['query', 'q', 'searchTerm', 'search_query', 'question', 'keywords', 'queries'])
    assert.deepEqual(role(name, text), { kind: 'words', style: 'any', isMeant: true }, name);
  assertRoles([
    ['query', said('A question in natural language'), { kind: 'words', style: 'meaning' }],
    ['query', said('Text that the page contains'), { kind: 'words', style: 'literal' }],
    ['query', said('Regular expression'), { kind: 'words', style: 'regex' }],
    ['query', said('Finds people by their name'), { kind: 'words', style: 'name' }],
    ['pattern', text, { kind: 'words', style: 'regex' }],
    ['pattern', said('Glob, as in **/*.md'), { kind: 'words', style: 'glob' }],
    ['text', said('The text to search for'), { kind: 'words', isMeant: true }],
    ['text', text, { kind: 'words', isMeant: false }],
  ]);
});

test("words in a server's own language: Jira's is known, others cannot be written", () => {
  assertRoles([
    ['jql', text, { kind: 'words', language: 'jql' }],
    ['query', said('CQL query string'), { kind: 'words', language: 'cql' }],
    ['query', said('A GraphQL query'), { kind: 'other' }],
    ['query', said('PromQL expression'), { kind: 'handle', noun: 'metric', attribute: 'name' }],
  ]);
  assert.equal(Object.hasOwn(role('query', said('Simple text or JQL')), 'language'), false);
});

test('SQL, said by the name, the description or the tool', () => {
  assertRoles([
    ['sql', text, { kind: 'sql' }],
    ['sql_query', text, { kind: 'sql' }],
    ['query', said('SELECT SQL query to execute'), { kind: 'sql' }],
    ['statement', said('The SQL statement'), { kind: 'sql' }],
  ]);
  assert.deepEqual(role('query', text, 'Execute a SQL query'), { kind: 'sql' });
});

test('handles: paths, folders, addresses, ids, numbers, names', () => {
  assertRoles([
    ['path', text, { kind: 'handle', attribute: 'path', isCertain: false }],
    ['path', said('Path of the note'), { kind: 'handle', attribute: 'path', isCertain: true }],
    ['file_path', text, { kind: 'handle', attribute: 'path', isCertain: true }],
    ['filename', text, { kind: 'handle', noun: 'file', attribute: 'path', isCertain: true }],
    ['repo_path', text, { kind: 'handle', noun: 'repo', attribute: 'folder' }],
    ['path', said('The directory to list'), { kind: 'handle', attribute: 'folder' }],
    ['directory', text, { kind: 'handle', attribute: 'folder' }],
    ['url', text, { kind: 'handle', attribute: 'uri' }],
    ['website', said('', { format: 'uri' }), { kind: 'handle', attribute: 'uri' }],
    ['id', text, { kind: 'handle', noun: '', attribute: 'id' }],
    ['ticketKey', text, { kind: 'handle', noun: 'ticket', attribute: 'id' }],
    ['page_id', integer, { kind: 'handle', noun: 'page', attribute: 'id' }],
    ['issue_number', integer, { kind: 'handle', noun: 'issue', attribute: 'number' }],
    ['user_name', text, { kind: 'handle', noun: 'user', attribute: 'name' }],
    ['owner', text, { kind: 'handle', noun: 'owner', attribute: 'any' }],
    ['zorble', text, { kind: 'handle', noun: 'zorble', attribute: 'any' }],
  ]);
});

test('dates: the edge by the name, the format by schema and description', () => {
  const date = (edge: 'start' | 'end' | 'day', format: string) =>
    ({ kind: 'date', edge, format }) as Partial<ParameterRole>;
  assertRoles([
    ['since', text, date('start', 'unsaid')],
    ['until', text, date('end', 'unsaid')],
    ['created_after', text, date('start', 'unsaid')],
    ['due_before', text, date('end', 'unsaid')],
    ['start_date', text, date('start', 'day')],
    ['endDate', said('', { format: 'date-time' }), date('end', 'moment')],
    ['date', said('', { format: 'date' }), date('day', 'day')],
    ['from', said('ISO 8601 date'), date('start', 'day')],
    ['start_time', said('RFC3339 timestamp'), date('start', 'moment')],
    ['after_ts', integer, date('start', 'seconds')],
    ['to', { ...integer, description: 'Unix timestamp in milliseconds' }, date('end', 'milliseconds')],
    ['month', text, date('day', 'month')],
    ['period', said('YYYY-MM'), date('day', 'month')],
    ['year', integer, date('day', 'year')],
    ['week', integer, date('day', 'week')],
    ['day', said('DD.MM.YYYY'), { kind: 'date', format: 'written', pattern: 'DD.MM.YYYY' }],
    [
      'tag',
      said('', { pattern: '^\\d{2}\\.\\d{2}\\.\\d{4}$' }),
      { kind: 'date', format: 'written', pattern: 'DD.MM.YYYY' },
    ],
    ['time', said('Time of day, HH:MM'), { kind: 'time' }],
    // Of a message, it is what the message is called.
    ['timestamp', text, { kind: 'handle' }],
  ]);
});

test('a bare start and end are dates where the tool speaks of time', () => {
  for (const name of ['start', 'end']) {
    assert.equal(role(name, text, 'Lists the events of a calendar').kind, 'date', name);
    assert.notEqual(role(name, text, 'Shortest way between two stations').kind, 'date', name);
  }
});

test('paging', () => {
  const kinds = {
    limit: ['limit', 'max_results', 'per_page', 'pageSize', 'top_k', 'count'],
    page: ['page', 'page_number'],
    offset: ['offset', 'skip', 'start'],
  } as const;
  for (const [kind, names] of Object.entries(kinds))
    for (const name of names) assert.deepEqual(role(name, integer), { kind }, name);
  for (const name of ['cursor', 'page_token', 'nextToken', 'after'])
    assert.deepEqual(role(name, text), { kind: 'cursor' }, name);
});

test('choices, flags, zones, constants and what cannot be filled', () => {
  assertRoles([
    ['state', { type: 'string', enum: ['open', 'closed'] }, { kind: 'choice', values: ['open', 'closed'] }],
    ['kind', { const: 'page' }, { kind: 'choice', values: ['page'] }],
    ['pick', { anyOf: [{ const: 'a' }, { const: 'b' }] }, { kind: 'choice', values: ['a', 'b'] }],
    ['mode', said("Either 'fast' or 'slow'"), { kind: 'choice', values: ['fast', 'slow'] }],
    ['recursive', { type: 'boolean' }, { kind: 'flag' }],
    ['timezone', text, { kind: 'zone', side: 'source' }],
    ['target_timezone', text, { kind: 'zone', side: 'target' }],
    ['customer_timezone', text, { kind: 'zone', side: 'source' }],
    ['random_string', said('Dummy parameter for no-parameter tools'), { kind: 'fixed', value: 'all' }],
    ['name', said("Use '*' for all of them"), { kind: 'fixed', value: '*' }],
    ['filePattern', text, { kind: 'other' }],
    ['options', { type: 'object' }, { kind: 'other' }],
    ['format', text, { kind: 'other' }],
    ['threshold', { type: 'number' }, { kind: 'other' }],
  ]);
  // Examples are not all there is.
  assert.equal(role('topic', said("A topic, e.g. 'cats' or 'dogs'")).kind, 'words');
});

test('lists, elements that only need a handle, nullable types', () => {
  const listed = parameter('names', { type: 'array', items: text, description: 'Names to open' });
  assert.deepEqual([listed.isList, listed.type, listed.role.kind], [true, 'string', 'handle']);

  const element = { type: 'object', properties: { path: text, range: text }, required: ['path'] };
  const wrapped = parameter('sources', { type: 'array', items: element });
  assert.deepEqual([wrapped.name, wrapped.isList, wrapped.wrappedIn], ['sources', true, 'path']);
  const both = { ...element, required: ['path', 'range'] };
  assert.equal(role('sources', { type: 'array', items: both }).kind, 'other', 'needs more than a path');

  assert.equal(role('query', { anyOf: [text, { type: 'null' }] }).kind, 'words');
  assert.equal(role('query', { type: ['string', 'null'] }).kind, 'words');
});

test('defaults and bounds are kept', () => {
  const own = parameter('page_size', { type: 'integer', default: 20, minimum: 1, maximum: 50 });
  assert.partialDeepStrictEqual(own, { default: 20, minimum: 1, maximum: 50, isRequired: false });
  for (const [schema, hasUsualValue] of [
    [said('Calendar. Defaults to the primary one'), true],
    [{ type: 'string', default: 'main' }, true],
    [{ type: 'string', default: '' }, false],
    [text, false],
  ] as const)
    assert.equal(parameter('calendar_id', schema).hasUsualValue, hasUsualValue, JSON.stringify(schema));
  assert.equal(parameter('query', said('', { pattern: '^[A-Z]+$' })).hasPattern, true);
});

test('arguments described in the text of a Python tool', () => {
  const ofTool = 'Lists entries.\n\nArgs:\n  first (str): The first day, YYYY-MM-DD\n  - what: Free-text search';
  assert.partialDeepStrictEqual(role('first', text, ofTool), { kind: 'date', format: 'day' });
  assert.equal(role('first', text).kind, 'handle');
});

test('a required parameter without a schema can be anything; no schema has no parameters', () => {
  const [loose] = readParameters({ properties: {}, required: ['zorble'] });
  assert.partialDeepStrictEqual(loose, { name: 'zorble', isRequired: true, role: { kind: 'handle', noun: 'zorble' } });
  for (const schema of [undefined, null, 'x', [], { properties: 3, required: 'query' }])
    assert.deepEqual(readParameters(schema), [], JSON.stringify(schema));
});

test('singular nouns', () => {
  for (const [plural, expected] of [
    ['tables', 'table'],
    ['entries', 'entry'],
    ['boxes', 'box'],
    ['branches', 'branch'],
    ['status', 'status'],
    ['address', 'address'],
    ['series', 'series'],
    ['analysis', 'analysis'],
  ] as const)
    assert.equal(singular(plural), expected, plural);
});
