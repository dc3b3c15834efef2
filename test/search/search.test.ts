import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Embedder } from '../../src/search/embedder.ts';
import { inspectQuality } from '../../src/search/quality.ts';
import { search } from '../../src/search/search.ts';
import { embedder, sampleIndex, sampleTool, sampleTools } from './sample-tools.ts';

const names = (result: Awaited<ReturnType<typeof search>>) => result.tools.map(({ tool }) => tool.name);

test('search: words and meaning find the tool, scores lie between 0 and 1 and fall', async () => {
  const index = await sampleIndex();
  assert.equal(names(await search(index, { query: 'open a bug report on github' }))[0], 'github.create_issue');
  assert.equal(names(await search(index, { query: 'will it rain tomorrow in Paris?' }))[0], 'weather.get_forecast');
  const { tools } = await search(index, { query: 'send an email to Anna' });
  assert.equal(tools[0]?.tool.name, 'mail.send_email');
  for (const [position, { score }] of tools.entries()) {
    assert.ok(score >= 0 && score <= 1);
    assert.ok(position === 0 || score <= (tools[position - 1]?.score ?? 0));
  }
});

test('BR-009: tools of the same name on two servers are both found, each with its server', async () => {
  const result = await search(await sampleIndex(), { query: 'create a new issue' });
  assert.deepEqual(new Set(names(result).slice(0, 2)), new Set(['github.create_issue', 'gitlab.create_issue']));
});

test('API-016: search: nothing fits is an answer', async () => {
  const result = await search(await sampleIndex(), {
    query: 'how long should I boil an egg so that the yolk stays soft',
    toolThreshold: 0.5,
  });
  assert.deepEqual(result.tools, []);
});

test('search: a request with several steps gets a tool for each', async () => {
  const result = await search(await sampleIndex(), {
    query: 'Get the weather forecast for Oslo, then post a message to the channel, and create a calendar event.',
    limit: 3,
  });
  assert.equal(result.metadata.parts.length, 3);
  assert.deepEqual(
    new Set(names(result)),
    new Set(['weather.get_forecast', 'slack.post_message', 'calendar.create_event']),
  );
});

test('search: a tool found for a part scores as for that part, and passes a threshold', async () => {
  const index = await sampleIndex();
  const request = { query: 'read the contents of the file, play a song and send an email to Anna', toolThreshold: 0.4 };
  const { tools } = await search(index, request);
  const scores = new Map(tools.map(({ tool, score }) => [tool.name, score]));
  for (const name of ['files.readFile', 'spotify.play_track', 'mail.send_email'])
    assert.ok((scores.get(name) ?? 0) >= 0.4, name);
  const alone = await search(index, { query: 'read the contents of the file' });
  assert.ok((scores.get('files.readFile') ?? 0) <= (alone.tools[0]?.score ?? 0));
});

test('FIND-001: every query gets its tools, and a query that none fits has none', async () => {
  const index = await sampleIndex();
  const queries = ['get the weather forecast of a city', 'how long to boil an egg', 'post a message to a channel'];
  const found = await search(index, { queries, limit: 3, toolThreshold: 0.5 });
  assert.deepEqual(
    found.steps?.map(({ query, tools }) => [query, tools.map(({ name }) => name)]),
    [
      [queries[0], ['weather.get_forecast']],
      [queries[1], []],
      [queries[2], ['slack.post_message']],
    ],
  );
  assert.deepEqual(
    found.tools.map(({ tool, steps }) => [tool.name, steps]),
    [
      ['weather.get_forecast', [0]],
      ['slack.post_message', [2]],
    ],
  );
  const alone = await search(index, { query: queries[0], limit: 3, toolThreshold: 0.5 });
  assert.equal(found.tools[0]?.score, alone.tools[0]?.score, 'a step scores as if it were asked alone');
  const tight = await search(index, { queries: ['send an email', 'create an issue on gitlab'], limit: 1 });
  assert.deepEqual(names(tight), ['mail.send_email', 'gitlab.create_issue']);
  const both = await search(index, {
    query: 'create a calendar event',
    queries: ['send an email'],
    limit: 4,
    toolThreshold: 0.5,
  });
  assert.deepEqual(
    both.tools.slice(0, 2).map(({ tool, steps }) => [tool.name, steps]),
    [
      ['mail.send_email', [0]],
      ['calendar.create_event', []],
    ],
  );
});

test('search: tools that do the same share a place when the request needs several', async () => {
  const twin = sampleTool(11, 'openmeteo', 'get_forecast', 'Weather forecast for a city for the coming days');
  const index = await sampleIndex([...sampleTools, twin]);
  const result = await search(index, { query: 'Get the weather forecast for a city, then send an email to Anna' });
  const places = result.tools.filter(({ tool }) => tool.originalName === 'get_forecast');
  assert.equal(places.length, 1);
  assert.deepEqual(
    places[0]?.alternatives?.map(({ originalName }) => originalName),
    ['get_forecast'],
  );
});

test('a server that leaves takes its tools out of search at once and brings them back without embedding', async () => {
  const index = await sampleIndex();
  index.setAvailable('github', false);
  assert.ok(
    names(await search(index, { query: 'create a github issue' })).every((name) => !name.startsWith('github.')),
  );
  index.setAvailable('github', true);
  const back = await search(index, { query: 'create a github issue', includeReasons: true });
  assert.equal(names(back)[0], 'github.create_issue');
  assert.ok((back.tools[0]?.reasons?.similarity ?? 0) > 0.5);
  assert.ok(back.tools[0]?.reasons?.matchedWords.includes('issue'));
});

test('search: filters by server, by origin and by what the caller may see', async () => {
  const index = await sampleIndex();
  assert.deepEqual(names(await search(index, { query: 'issue', serverFilter: ['gitlab'] })), ['gitlab.create_issue']);
  assert.deepEqual(names(await search(index, { query: 'issue', includeExternal: false })), []);
  const visible = await search(index, { query: 'issue', isVisible: (tool) => tool.server === 'mail' });
  assert.deepEqual(names(visible), ['mail.send_email']);
});

test('search: the same index and request give the same answer', async () => {
  const index = await sampleIndex();
  const again = await sampleIndex([...sampleTools].reverse());
  const request = { query: 'create something new for the team', limit: 10 };
  const pick = (result: Awaited<ReturnType<typeof search>>) =>
    result.tools.map(({ tool, score }) => [tool.name, score]);
  assert.deepEqual(pick(await search(index, request)), pick(await search(index, request)));
  assert.deepEqual(pick(await search(again, request)), pick(await search(index, request)));
});

test('search: an embedder that fails costs the similarity, not the answer', async () => {
  const index = await sampleIndex();
  const broken: Embedder = { ...embedder, embed: () => Promise.reject(new Error('no route')) };
  index.useEmbedder(broken, new Map());
  const result = await search(index, { query: 'send an email' });
  assert.equal(result.metadata.strategyUsed, 'lexical');
  assert.match(result.metadata.warnings[0] ?? '', /no route/);
  assert.equal(names(result)[0], 'mail.send_email');
});

test('search: vectors kept elsewhere decide, and the built-in ones when they are away', async () => {
  const index = await sampleIndex();
  const request = { query: 'compose a letter to Anna' };
  const local = await search(index, request);
  const remote = await search(index, request, undefined, async (vector) => {
    const scores = index.vectors.scan(vector);
    return sampleTools
      .map(({ id }) => ({ id, score: scores[index.slotOf(id) ?? -1] ?? 0 }))
      .sort((a, b) => b.score - a.score);
  });
  assert.deepEqual(names(remote), names(local));
  const away = await search(index, request, undefined, () => Promise.reject(new Error('refused')));
  assert.deepEqual(names(away), names(local));
  assert.match(away.metadata.warnings[0] ?? '', /refused/);
});

test('search: a skill lifts its tools and hides no other', async () => {
  const index = await sampleIndex(
    sampleTools.map((tool) => (tool.id === 9 ? { ...tool, skillIds: ['calendar'], primarySkillId: 'calendar' } : tool)),
  );
  index.setSkills([
    { id: 'calendar', name: 'Calendar', vector: embedder.embedText('calendar events meetings appointments') },
  ]);
  const request = { query: 'set up a meeting appointment', skillThreshold: 0.1 };
  const lifted = await search(index, { ...request, strategy: 'hierarchical' });
  const direct = await search(index, { ...request, strategy: 'direct' });
  assert.equal(lifted.matchedSkills[0]?.id, 'calendar');
  assert.equal(lifted.tools.length, direct.tools.length);
  assert.ok((lifted.tools[0]?.score ?? 0) > (direct.tools[0]?.score ?? 0));
});

test('search: a changed tool is found by its new text only', async () => {
  const index = await sampleIndex();
  const changed = sampleTool(10, 'spotify', 'translate_text', 'Translate a text into another language');
  index.upsert(changed, embedder.embedText('translate a text into another language'));
  assert.equal(index.size, sampleTools.length);
  assert.equal(names(await search(index, { query: 'translate into French' }))[0], 'spotify.translate_text');
  index.remove(10);
  assert.ok(!names(await search(index, { query: 'translate into French' })).includes('spotify.translate_text'));
});

test('quality: says which tools cannot be told apart, lack a description or are not found', async () => {
  const index = await sampleIndex([
    ...sampleTools,
    sampleTool(11, 'b', 'fetch', 'Fetch the content of a web page as text'),
    sampleTool(12, 'b', 'fetch_page', 'Fetch the content of a web page as text'),
    sampleTool(13, 'b', 'do_it', ''),
  ]);
  const report = inspectQuality(index, embedder.embedText);
  assert.deepEqual(
    report.withoutDescription.map(({ id }) => id),
    [13],
  );
  assert.deepEqual(
    report.indistinct.map(({ a, b }) => [a.id, b.id]),
    [[11, 12]],
  );
  const github = report.servers.find(({ server }) => server === 'github');
  assert.equal(github?.tools, 2);
  assert.ok((github?.hitAt5 ?? 0) > 0.9);
});

/** Three servers of everyday use: files, memory and demonstrations. */
const everydayTools: [server: string, name: string, description: string][] = [
  ['fs', 'read_text_file', 'Read the complete contents of a file from the file system as text.'],
  ['fs', 'write_file', 'Create a new file or completely overwrite an existing file with new content.'],
  [
    'fs',
    'edit_file',
    'Make line-based edits to a text file. Each edit replaces exact line sequences with new content.',
  ],
  ['fs', 'create_directory', 'Create a new directory or ensure a directory exists.'],
  ['fs', 'list_directory', 'Get a detailed listing of all files and directories in a specified path.'],
  ['fs', 'move_file', 'Move or rename files and directories.'],
  ['fs', 'search_files', 'Recursively search for files and directories matching a pattern.'],
  ['fs', 'get_file_info', 'Retrieve detailed metadata about a file: size, creation time, last modified time.'],
  ['fs', 'list_allowed_directories', 'Returns the list of directories that this server is allowed to access.'],
  ['memory', 'create_relations', 'Create multiple new relations between entities in the knowledge graph.'],
  ['memory', 'add_observations', 'Add new observations to existing entities in the knowledge graph'],
  ['memory', 'delete_entities', 'Delete multiple entities and their associated relations from the knowledge graph'],
  ['memory', 'read_graph', 'Read the entire knowledge graph'],
  ['memory', 'search_nodes', 'Search for nodes in the knowledge graph based on a query'],
  ['everything', 'get-sum', 'Returns the sum of two numbers'],
  ['everything', 'get-env', 'Returns all environment variables, helpful for debugging MCP server configuration'],
  ['everything', 'get-tiny-image', 'Returns a tiny MCP logo image.'],
];

const everydayRequests: [query: string, tool: string][] = [
  ['show me the contents of notes.txt', 'read_text_file'],
  ['rename report.txt to final.txt', 'move_file'],
  ['change a line in config.yaml', 'edit_file'],
  ['what is in this directory', 'list_directory'],
  ['which folders may I use', 'list_allowed_directories'],
  ['find all pdf files', 'search_files'],
  ['when was the file last modified', 'get_file_info'],
  ['what is 3 plus 4', 'get-sum'],
  ['remember that Anna likes tea', 'add_observations'],
  ['forget what you know about Bob', 'delete_entities'],
  ['what do you know about Anna', 'search_nodes'],
  ['link Anna to the company Acme', 'create_relations'],
  ['show the whole knowledge graph', 'read_graph'],
];

test('search: everyday requests find their tool in a small installation, and others find none', async () => {
  const index = await sampleIndex(
    everydayTools.map(([server, name, says], at) => sampleTool(at + 1, server, name, says)),
  );
  const find = async (query: string) =>
    (await search(index, { query, toolThreshold: 0.3 })).tools.map(({ tool }) => tool.originalName);
  for (const [query, tool] of everydayRequests) assert.equal((await find(query))[0], tool, query);
  for (const query of ['book a flight to Rome', 'order a pizza', 'turn off the lights', 'post a message to slack'])
    assert.deepEqual(await find(query), [], query);
  const found = await find('read the invoice file, add the numbers and remember the sum');
  for (const tool of ['read_text_file', 'get-sum', 'add_observations']) assert.ok(found.includes(tool), tool);
});
