import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeStrategy } from '../../../src/query/strategy/describe-strategy.ts';
import { type StrategyInput, type StrategyTool, workOutStrategy } from '../../../src/query/strategy/strategy.ts';

const text = { type: 'string' };

function tool(name: string, description: string, properties: Record<string, unknown> = {}): StrategyTool {
  return { name, description, inputSchema: { type: 'object', properties, required: Object.keys(properties) } };
}

const describe = (input: Partial<StrategyInput>): string[] =>
  describeStrategy(workOutStrategy({ tools: [], ...input }));

test('a server that cannot be asked has nothing to say', () => {
  assert.deepEqual(describe({}), []);
  assert.deepEqual(describe({ tools: [tool('delete_page', 'Deletes a page', { id: text })] }), []);
});

test('a search says what it is given', () => {
  for (const [own, sentence] of [
    [
      tool('search_notes', 'Semantic search over notes', { query: text }),
      'Searches with search_notes, with the whole question.',
    ],
    [tool('search_notes', 'Searches for a keyword', { query: text }), 'Searches with search_notes, word by word.'],
    [
      tool('search_notes', 'Searches notes', { query: text }),
      'Searches with search_notes, with the question and its keywords.',
    ],
    [
      tool('find_contacts', 'Finds contacts', { name: text }),
      'Searches with find_contacts, for names that hold a keyword.',
    ],
    [
      tool('search', 'Execute a ripgrep search in files', { pattern: text, path: text }),
      'Searches with search, with a pattern of your keywords, once path is known.',
    ],
    [
      tool('search_files', 'Search for files matching a pattern', { pattern: text }),
      'Searches with search_files, for files whose name holds a keyword.',
    ],
    [
      tool('search_code', 'Searches code', { query: text, owner: text, repo: text }),
      'Searches with search_code, with the question and its keywords, once owner and repo are known.',
    ],
  ] as const)
    assert.deepEqual(describe({ tools: [own] }), [sentence]);
});

test('lists and readers, together and alone; the best reader is named first', () => {
  const list = tool('list_pages', 'Lists pages');
  const info = tool('get_page_info', 'Returns metadata of a page', { page_id: text });
  const read = tool('read_page', 'Returns the contents of a page', { page_id: text });
  const search = tool('search_pages', 'Searches pages', { query: text });
  assert.deepEqual(describe({ tools: [list, info, read] }), [
    'Lists entries with list_pages, then reads the matching ones with read_page and get_page_info.',
  ]);
  assert.deepEqual(describe({ tools: [list] }), ['Lists entries with list_pages.']);
  assert.deepEqual(describe({ tools: [read] }), ['Reads what the question names with read_page.']);
  assert.deepEqual(
    describe({ tools: [search, read] }).at(-1),
    'Reads what the question names or a search finds with read_page.',
  );
});

test('SQL, resources, templates and reports', () => {
  const sql = tool('read_query', 'Execute a SELECT query', { query: { type: 'string', description: 'SQL query' } });
  assert.deepEqual(describe({ tools: [sql] }), [
    'Reads the tables and columns once, then looks for your words in the text columns with read_query.',
  ]);
  const resource = (uri: string) => ({ uri, name: uri, description: '' });
  const template = { uriTemplate: 'wiki://{page}', name: 'page', description: '', variables: ['page'] };
  assert.deepEqual(describe({ resources: [resource('wiki://1'), resource('wiki://2')], templates: [template] }), [
    'Reads the resources whose name or description fits (2 listed).',
    'Fills a resource template with the values that the server suggests.',
  ]);
  assert.deepEqual(describe({ templates: [template, template] }), [
    'Fills 2 resource templates with the values that the server suggests.',
  ]);
  const build = tool('get_build_status', 'Whether the last build passed');
  assert.deepEqual(describe({ tools: [build] }), [
    'Calls get_build_status when the question is about what it reports.',
  ]);
  assert.deepEqual(describe({ tools: [build, tool('get_weather', 'The weather')] }), [
    'Calls get_build_status and get_weather when the question is about what they report.',
  ]);
});

test('one tool with several choices is one tool', () => {
  const what = { type: 'string', enum: ['fees', 'fixtures'] };
  assert.deepEqual(describe({ tools: [tool('lookup', 'Looks up facts', { what })] }), [
    'Calls lookup when the question is about what it reports.',
  ]);
});

test('long enumerations are cut, with a count of the rest', () => {
  const numbered = (make: (at: number) => StrategyTool) => Array.from({ length: 5 }, (_, at) => make(at));
  assert.deepEqual(describe({ tools: numbered((at) => tool(`list_things${at}`, 'Lists things')) }), [
    'Lists entries with list_things0, list_things1, list_things2 and 2 more.',
  ]);
  const searches = describe({ tools: numbered((at) => tool(`search_${at}`, 'Searches', { query: text })) });
  assert.deepEqual(searches.slice(3), ['Searches with 2 more tools.']);
  const four = describe({ tools: numbered((at) => tool(`search_${at}`, 'Searches', { query: text })).slice(0, 4) });
  assert.deepEqual(four.at(-1), 'Searches with 1 more tool.');
});
