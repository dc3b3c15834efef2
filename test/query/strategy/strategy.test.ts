import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  canBeAsked,
  type Operation,
  type Strategy,
  type StrategyTool,
  toResource,
  toTemplate,
  workOutStrategy,
} from '../../../src/query/strategy/strategy.ts';

type Properties = Record<string, unknown>;

const text = { type: 'string' };
const choice = (...values: string[]) => ({ type: 'string', enum: values });

function tool(name: string, description: string, properties: Properties = {}, required?: string[]): StrategyTool {
  return {
    name,
    description,
    inputSchema: { type: 'object', properties, required: required ?? Object.keys(properties) },
  };
}

/** `kind tool(what it needs)`, for tables. */
function shapes({ operations }: Strategy): string[] {
  const needs = (operation: Operation) =>
    operation.needs.map(({ name, role }) => `${name}: ${role.kind === 'handle' ? role.attribute : role.kind}`);
  return operations.map((operation) => `${operation.kind} ${operation.key}(${needs(operation).join(', ')})`);
}

const leftOut = ({ leftOut: tools }: Strategy): string[] => tools.map((own) => own.tool);

function operation(strategy: Strategy, key: string): Operation {
  const found = strategy.operations.find((own) => own.key === key);
  assert.ok(found !== undefined, key);
  return found;
}

const filesystem = [
  tool('list_allowed_directories', 'Returns the list of directories that this server is allowed to access.'),
  tool('list_directory', 'Get a listing of all files and directories in a specified path.', { path: text }),
  tool('directory_tree', 'Get a recursive tree view of files and directories.', { path: text }),
  tool('read_text_file', 'Read the complete contents of a file as text.', { path: text }),
  tool('read_media_file', 'Read an image or audio file. Returns base64 data.', { path: text }),
  tool('get_file_info', 'Retrieve detailed metadata about a file or directory.', { path: text }),
  tool('search_files', 'Recursively search for files matching a pattern.', { path: text, pattern: text }),
  tool('write_file', 'Create a new file or overwrite an existing file.', { path: text, content: text }),
  tool('move_file', 'Move or rename files.', { source: text, destination: text }),
];

test('filesystem: folders are listed, files read, names searched, nothing written', () => {
  const strategy = workOutStrategy({ tools: filesystem });
  assert.deepEqual(shapes(strategy), [
    'list list_allowed_directories()',
    'list list_directory(path: folder)',
    'list directory_tree(path: folder)',
    'read read_text_file(path: path)',
    'read read_media_file(path: path)',
    'read get_file_info(path: path)',
    'search search_files(path: folder)',
  ]);
  assert.deepEqual(leftOut(strategy), ['write_file', 'move_file']);
  assert.equal(operation(strategy, 'search_files').style, 'glob');
  assert.equal(operation(strategy, 'directory_tree').isWhole, true);
  assert.equal(operation(strategy, 'list_directory').isWhole, false);
  // Contents before bytes and facts about them.
  const [best, ...others] = ['read_text_file', 'read_media_file', 'get_file_info'].map(
    (key) => operation(strategy, key).preference,
  );
  for (const other of others) assert.ok((best ?? 0) > other, `${best} against ${other}`);
});

test('a listing takes a folder, unless its path is known to be a file', () => {
  const sheets = tool('list_sheets', 'Lists the sheets of a workbook.', { file_path: text });
  assert.deepEqual(shapes(workOutStrategy({ tools: [sheets] })), ['list list_sheets(file_path: path)']);
  // Where a folder is called a folder, a path is a file.
  const named = [
    tool('list_workbooks', 'Lists the workbooks.', { directory: text }),
    tool('list_ranges', 'Lists the ranges.', { path: text }),
  ];
  assert.deepEqual(shapes(workOutStrategy({ tools: named })), [
    'list list_workbooks(directory: folder)',
    'list list_ranges(path: path)',
  ]);
});

test('git: a repository is needed, commits are listed and read', () => {
  const strategy = workOutStrategy({
    tools: [
      tool('git_status', 'Shows the working tree status', { repo_path: text }),
      tool('git_log', 'Shows the commit logs', { repo_path: text }),
      tool('git_show', 'Shows the contents of a commit', { repo_path: text, revision: text }),
      tool('git_branch', 'List Git branches', {
        repo_path: text,
        branch_type: { type: 'string', description: "Either 'local', 'remote' or 'all'" },
      }),
      tool('git_commit', 'Records changes to the repository', { repo_path: text, message: text }),
      tool('git_add', 'Adds file contents to the staging area', { repo_path: text, files: text }),
      tool('git_checkout', 'Switches branches', { repo_path: text, branch_name: text }),
      tool('git_reset', 'Unstages all staged changes', { repo_path: text }),
    ],
  });
  assert.deepEqual(shapes(strategy), [
    'report git_status(repo_path: folder)',
    'list git_log(repo_path: folder)',
    'read git_show(repo_path: folder, revision: any)',
    'list git_branch(repo_path: folder)',
  ]);
  assert.deepEqual(leftOut(strategy), ['git_commit', 'git_add', 'git_checkout', 'git_reset']);
  // The product is no noun, and one of the values means all of them.
  assert.deepEqual(
    strategy.operations.map(({ namespace }) => namespace),
    Array.from({ length: 4 }, () => 'git'),
  );
  assert.deepEqual(operation(strategy, 'git_branch').preset, {});
});

test('SQLite: tables are listed and described, statements that read are sent', () => {
  const sql = { type: 'string', description: 'SQL query to execute' };
  const strategy = workOutStrategy({
    tools: [
      tool('read_query', 'Execute a SELECT query on the SQLite database', { query: sql }),
      tool('write_query', 'Execute an INSERT, UPDATE, or DELETE query', { query: sql }),
      tool('create_table', 'Create a new table', { query: sql }),
      tool('list_tables', 'List all tables in the SQLite database'),
      tool('describe_table', 'Get the schema information for a table', { table_name: text }),
    ],
  });
  assert.deepEqual(shapes(strategy), [
    'sql read_query()',
    'list list_tables()',
    'read describe_table(table_name: name)',
  ]);
  assert.deepEqual(leftOut(strategy), ['write_query', 'create_table']);
  assert.equal(operation(strategy, 'read_query').input?.name, 'query');
  assert.equal(operation(strategy, 'list_tables').noun, operation(strategy, 'describe_table').noun);
});

test('ripgrep: an expression in a folder', () => {
  const strategy = workOutStrategy({
    tools: [
      tool('search', 'Execute a ripgrep search in files', { pattern: text, path: text, filePattern: text }, [
        'pattern',
        'path',
      ]),
      tool('list-files', 'List files that would be searched by ripgrep', { path: text }),
    ],
  });
  assert.deepEqual(shapes(strategy), ['search search(path: folder)', 'list list-files(path: folder)']);
  assert.partialDeepStrictEqual(operation(strategy, 'search'), { style: 'regex', input: { name: 'pattern' } });
});

test('knowledge graph: searched, opened by name, read as a whole', () => {
  const strategy = workOutStrategy({
    tools: [
      tool('search_nodes', 'Search for nodes in the knowledge graph based on a query', { query: text }),
      {
        ...tool('open_nodes', 'Open specific nodes by their names', { names: { type: 'array', items: text } }),
        annotations: { readOnlyHint: true },
      },
      tool('read_graph', 'Read the entire knowledge graph'),
      tool('create_entities', 'Create new entities', { entities: { type: 'array', items: { type: 'object' } } }),
      tool('delete_entities', 'Delete entities', { names: { type: 'array', items: text } }),
    ],
  });
  assert.deepEqual(shapes(strategy), ['search search_nodes()', 'read open_nodes(names: name)', 'report read_graph()']);
  assert.deepEqual(leftOut(strategy), ['create_entities', 'delete_entities']);
  assert.equal(operation(strategy, 'read_graph').isWhole, true);
});

test('a tool that takes nothing reports', () => {
  const strategy = workOutStrategy({
    tools: [tool('get_build_status', 'Whether the last build passed'), tool('trigger_build', 'Starts a build')],
  });
  assert.deepEqual(shapes(strategy), ['report get_build_status()']);
  assert.deepEqual(leftOut(strategy), ['trigger_build']);
  assert.match(operation(strategy, 'get_build_status').about, /get build status.*last build passed/);
});

test('the shape counts, not the names: invented things are listed, read and searched all the same', () => {
  for (const [things, thing] of [
    ['zorbles', 'zorble'],
    ['quixies', 'quixy'],
    ['tables', 'table'],
  ]) {
    const strategy = workOutStrategy({
      tools: [
        tool(`fetch_${things}`, `Returns the ${things} on board`),
        tool(`fetch_${thing}`, `Returns one ${thing}`, { [`${thing}_id`]: text }),
        tool(`hunt${things}`, `Finds ${things} that contain a keyword`, { q: text }),
        tool(`zap_${thing}`, `Deletes a ${thing}`, { [`${thing}_id`]: text }),
        tool(`flib_${thing}`, `Flibs a ${thing}`, { [`${thing}_id`]: text }),
      ],
    });
    assert.deepEqual(shapes(strategy), [
      `list fetch_${things}()`,
      `read fetch_${thing}(${thing}_id: id)`,
      `search hunt${things}()`,
    ]);
    assert.deepEqual(leftOut(strategy), [`zap_${thing}`, `flib_${thing}`]);
    assert.equal(operation(strategy, `hunt${things}`).style, 'literal');
    for (const key of [`fetch_${things}`, `fetch_${thing}`]) assert.equal(operation(strategy, key).noun, thing);
  }
});

test('a renamed filesystem keeps its strategy', () => {
  const strategy = workOutStrategy({
    tools: [
      tool('show_shelves', 'Lists the shelves of the archive'),
      tool('browse_shelf', 'Lists what is on a shelf', { shelf_id: text }),
      tool('view_parchment', 'Shows the text of a parchment', { parchment_id: text }),
      tool('burn_parchment', 'Destroys a parchment', { parchment_id: text }),
    ],
  });
  assert.deepEqual(shapes(strategy), [
    'list show_shelves()',
    'list browse_shelf(shelf_id: id)',
    'read view_parchment(parchment_id: id)',
  ]);
});

test('a server that is a remote control is not asked, unless an administrator vouches for a tool', () => {
  const tools = [
    tool('navigate_page', 'Opens an address', { url: text }),
    tool('click', 'Clicks an element', { uid: text }),
    tool('list_pages', 'Lists the open pages'),
  ];
  assert.deepEqual(shapes(workOutStrategy({ tools })), []);
  assert.equal(canBeAsked(workOutStrategy({ tools })), false);
  assert.deepEqual(shapes(workOutStrategy({ tools, readers: ['list_pages'] })), ['list list_pages()']);
});

test('an administrator can vouch for a tool that nothing else calls a reader', () => {
  const tools = [tool('wikipedia', 'An encyclopedia', { query: text })];
  assert.deepEqual(shapes(workOutStrategy({ tools })), []);
  assert.deepEqual(shapes(workOutStrategy({ tools, readers: ['wikipedia'] })), ['search wikipedia()']);
});

test('a required parameter that cannot be filled leaves the tool out, an optional one does not', () => {
  const options = { query: text, options: { type: 'object' } };
  const strategy = workOutStrategy({
    tools: [tool('search_a', 'Searches', options), tool('search_b', 'Searches', options, ['query'])],
  });
  assert.deepEqual(strategy.leftOut, [
    { tool: 'search_a', reason: 'required parameter "options" cannot be filled safely' },
  ]);
  assert.deepEqual(
    strategy.operations.filter(({ kind }) => kind === 'search').map((own) => own.tool),
    ['search_b'],
  );
});

test('words that are not meant for a question are not given one', () => {
  const strategy = workOutStrategy({ tools: [tool('check_text', 'Checks the grammar of a text', { text })] });
  assert.deepEqual(strategy.leftOut, [{ tool: 'check_text', reason: '"text" is not meant for a question' }]);
});

test('a name that is searched for need not be known', () => {
  const strategy = workOutStrategy({
    tools: [
      tool('find_contacts', 'Finds contacts', { name: text }),
      tool('get_contact', 'Returns a contact', { contact_name: text }),
    ],
  });
  assert.deepEqual(shapes(strategy), ['search find_contacts()', 'read get_contact(contact_name: name)']);
  assert.equal(operation(strategy, 'find_contacts').style, 'name');
});

test('words that need not be given: the tool searches, and lists without them', () => {
  const strategy = workOutStrategy({ tools: [tool('list_notes', 'Lists notes', { query: text }, [])] });
  assert.deepEqual(shapes(strategy), ['search list_notes()', 'list list_notes()']);
});

test('a required choice makes an operation for each value that reads', () => {
  const what = { ...choice('fees', 'fixtures', 'delete_member'), description: 'fees (membership), fixtures (matches)' };
  const strategy = workOutStrategy({ tools: [tool('lookup', 'Looks up facts about the club', { what })] });
  assert.deepEqual(
    strategy.operations.map(({ key, preset }) => [key, preset]),
    [
      ['lookup fees', { what: 'fees' }],
      ['lookup fixtures', { what: 'fixtures' }],
    ],
  );
  assert.match(operation(strategy, 'lookup fees').about, /membership/);
  assert.doesNotMatch(operation(strategy, 'lookup fees').about, /matches/);
});

test('of an action, only values that are known to read are ever sent', () => {
  const valuesOf = (properties: Properties, required?: string[]) => {
    const strategy = workOutStrategy({ tools: [tool('find_tasks', 'Finds tasks', properties, required)] });
    return strategy.operations.map(({ preset, parameters }) => [
      preset.action ?? 'none',
      ...parameters.flatMap(({ role }) => (role.kind === 'choice' ? role.values : [])),
    ]);
  };
  const all = choice('list', 'get', 'update', 'close', 'fix');
  assert.deepEqual(valuesOf({ action: all }), [
    ['list', 'list', 'get'],
    ['get', 'list', 'get'],
  ]);
  assert.deepEqual(valuesOf({ action: all }, []), [['none', 'list', 'get']]);
  // Left out, the tool would delete.
  assert.deepEqual(valuesOf({ action: { ...choice('list', 'get', 'delete'), default: 'delete' } }, []), [
    ['list', 'list', 'get'],
    ['get', 'list', 'get'],
  ]);
  const writer = workOutStrategy({ tools: [tool('find_tasks', 'Tasks', { action: choice('create', 'close') }, [])] });
  assert.deepEqual(writer, {
    operations: [],
    resources: [],
    templates: [],
    leftOut: [{ tool: 'find_tasks', reason: 'every way to call it changes something' }],
  });
});

test('what narrows a listing: its folder, and what another tool lists', () => {
  const usual = { type: 'string', description: 'Defaults to "primary"' };
  const strategy = workOutStrategy({
    tools: [
      tool('list_directory', 'Lists a folder', { path: text }, []),
      tool('list_calendars', 'Lists calendars'),
      tool('get_events', 'Returns events', { calendar_id: usual, colour_id: usual }, []),
    ],
  });
  const narrows = (key: string) => operation(strategy, key).narrows.map(({ name }) => name);
  assert.deepEqual(narrows('list_directory'), ['path']);
  assert.deepEqual(narrows('get_events'), ['calendar_id']);
});

test('a word that many names begin with is a product, not a thing', () => {
  const strategy = workOutStrategy({
    tools: [
      tool('jira_search_issues', 'Searches', { query: text }),
      tool('jira_get_issue', 'Returns an issue', { issue_key: text }),
      tool('jira_get_board', 'Returns a board', { board_id: text }),
      tool('wiki_search_pages', 'Searches', { query: text }),
      tool('wiki_get_page', 'Returns a page', { page_id: text }),
      tool('wiki_get_space', 'Returns a space', { space_id: text }),
    ],
  });
  assert.deepEqual(
    strategy.operations.map(({ namespace, noun }) => `${namespace} ${noun}`),
    ['jira issue', 'jira issue', 'jira board', 'wiki page', 'wiki page', 'wiki space'],
  );
  const things = workOutStrategy({
    tools: [
      tool('task_list', 'Lists tasks'),
      tool('task_view', 'Shows a task', { id: text }),
      tool('task_search', 'Searches tasks', { query: text }),
      tool('note_list', 'Lists notes'),
      tool('note_view', 'Shows a note', { id: text }),
    ],
  });
  assert.deepEqual(
    things.operations.map(({ namespace, noun }) => `${namespace} ${noun}`),
    [' task', ' task', ' task', ' note', ' note'],
  );
});

test('resources and templates alone can be asked; nothing at all cannot', () => {
  const page = toResource({
    uri: 'wiki://page/1',
    name: 'page-1',
    title: 'Opening hours',
    description: 'When we open',
  });
  const template = toTemplate({ uriTemplate: 'wiki://{space}/{+page}{?version,lang}', name: 'Page' });
  assert.deepEqual(page, { uri: 'wiki://page/1', name: 'Opening hours page-1', description: 'When we open' });
  assert.deepEqual(template.variables, ['space', 'page', 'version', 'lang']);
  assert.equal(canBeAsked(workOutStrategy({ tools: [], resources: [page] })), true);
  assert.equal(canBeAsked(workOutStrategy({ tools: [], templates: [template] })), true);
  assert.equal(canBeAsked(workOutStrategy({ tools: [tool('delete_page', 'Deletes', { id: text })] })), false);
});

test('the same definitions give the same strategy', () => {
  assert.deepEqual(workOutStrategy({ tools: filesystem }), workOutStrategy({ tools: filesystem }));
});

test('schemas that say nothing or nonsense', () => {
  for (const inputSchema of [undefined, null, 'x', [], { type: 'object', properties: 3, required: 'query' }]) {
    const strategy = workOutStrategy({ tools: [{ name: 'list_all', inputSchema }] });
    assert.deepEqual(shapes(strategy), ['list list_all()'], JSON.stringify(inputSchema));
  }
});
