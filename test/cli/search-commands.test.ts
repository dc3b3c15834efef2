import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type AggregatorProcess, startAggregator } from '../support/aggregator-process.ts';
import { stdioDocumentation } from '../support/servers/documentation.ts';
import { commandsOf, everything } from './command-line.ts';

let aggregator: AggregatorProcess;
let run: ReturnType<typeof commandsOf>['run'];
let json: ReturnType<typeof commandsOf>['json'];

before(async () => {
  aggregator = await startAggregator();
  ({ run, json } = commandsOf(aggregator));
});
after(() => aggregator.stop());

test('search without servers says so', async () => {
  const { code, stdout, stderr } = await run(['search', 'read', 'a', 'page']);
  assert.deepEqual([code, stdout, stderr], [0, '', 'No server is connected.\n']);
});

test('search prints score, name and why, and "nothing fits" is an answer', async () => {
  const { command, args } = stdioDocumentation('handbook');
  assert.equal((await run(['add', 'docs', '--stdio', '--', command, ...args])).code, 0);
  assert.equal((await run(['add', 'everything', '--stdio', '--', ...everything])).code, 0);
  const { code, stdout } = await run(['search', 'search', 'the', 'documentation', 'of', 'the', 'http', 'client']);
  assert.equal(code, 0);
  const [head, first] = stdout.split('\n');
  assert.match(head ?? '', /^SCORE +TOOL +WHY$/);
  assert.match(first ?? '', /^[01]\.\d\d +docs\.search_docs +matches .*documentation.* % alike/);

  const answer = await json<{ tools: { name: string }[] }>('search', 'echo', '--server', 'everything', '--limit', '1');
  assert.deepEqual(
    answer.tools.map(({ name }) => name),
    ['everything.echo'],
  );
  const steps = ['--step', 'search the documentation', '--step', 'water the tulips', '--threshold', '0.5'];
  const table = (await run(['search', ...steps])).stdout.split('\n');
  assert.match(table[0] ?? '', /^STEP +SCORE +TOOL +WHY$/);
  assert.match(table[1] ?? '', /^1\. search the documentation +[01]\.\d\d +docs\.search_docs /);
  assert.match(table.find((line) => line.startsWith('2.')) ?? '', /^2\. water the tulips +no tool fits$/);

  const nothing = await run(['search', 'water the tulips', '--threshold', '0.99']);
  assert.deepEqual([nothing.code, nothing.stdout, nothing.stderr], [0, '', 'No tool fits this task.\n']);
});

test('query asks the servers', async () => {
  const { code, stdout } = await run(['query', 'how are requests retried', '--servers', 'docs']);
  assert.equal(code, 0);
  assert.match(
    stdout,
    /^1\. Retries {2}\[docs\] {2}0\.\d\d\n {3}https:\/\/handbook\.test\/retries\n {3}Failed requests/,
  );
});

test('skills are listed, shown, added, changed and removed', async () => {
  assert.match((await run(['skills'])).stdout, /^ID +TOOLS +NAME +DESCRIPTION\n/);
  const added = await run([
    ...['skills', 'set', 'gardening', '--name', 'Gardening', '--description', 'Plants and soil'],
    ...['--example', 'water the tulips', '--example', 'when to sow beans'],
  ]);
  assert.deepEqual([added.code, added.stdout], [0, 'Skill "gardening" added; tools are classified again.\n']);
  const shown = (await run(['skills', 'show', 'gardening'])).stdout;
  assert.equal(shown, 'gardening  Gardening  (0 tools)\nPlants and soil\n- water the tulips\n- when to sow beans\n');
  assert.equal((await run(['skills', 'set', 'gardening', '--name', 'Garden'])).code, 0);
  const skill = await json<{ name: string; examples: string[] }>('skills', 'show', 'gardening');
  assert.deepEqual([skill.name, skill.examples.length], ['Garden', 2]);
  assert.equal((await run(['skills', 'remove', 'gardening'])).code, 0);
  assert.equal((await run(['skills', 'show', 'gardening'])).code, 4);
});

test('profiles are set, listed, shown and removed', async () => {
  assert.match((await run(['profile', 'list'])).stderr, /No profiles found/);
  const set = await run([
    ...['profile', 'set', 'writing', '--server', 'docs', '--tool', 'docs.search_*', '--tool', 'docs.get_page=read'],
    ...['--exposure', 'all', '--description', 'For writers'],
  ]);
  assert.deepEqual([set.code, set.stdout], [0, `Profile "writing" is at ${aggregator.url}/mcp/profiles/writing\n`]);
  assert.match((await run(['profile'])).stdout, /^writing +\/mcp\/profiles\/writing +docs +2 +For writers$/m);
  const { stdout } = await run(['profile', 'show', 'writing']);
  assert.match(stdout, /servers: docs\nlists: all\n- docs\.search_\*\n- docs\.get_page as read\n/);
  assert.equal((await run(['profile', 'remove', 'writing'])).code, 0);
  assert.equal((await run(['profile', 'show', 'writing'])).code, 4);
});

test('audit lists, verifies and exports what was done', async () => {
  const { stdout } = await run(['audit', '--event', 'skill.saved']);
  assert.match(stdout, /^TIME +EVENT +ACTOR +SERVER +DETAILS\n/);
  assert.match(stdout, /skill\.saved +admin +\{"skill":"gardening"\}/);
  const about = await json<{ audit: { server_name: string }[] }>('audit', 'list', '--server', 'docs');
  assert.ok(about.audit.length > 0 && about.audit.every(({ server_name: name }) => name === 'docs'));
  assert.match((await run(['audit', 'verify'])).stdout, /^\d+ records, all unchanged\.\nThe newest is \d+/);
  const lines = (await run(['audit', 'export'])).stdout.trim().split('\n');
  assert.ok(lines.length > 3);
  for (const line of lines) assert.equal(typeof JSON.parse(line), 'object');
});

test('doctor search says in plain words how well tools are found', async () => {
  const { code, stdout, stderr } = await run(['doctor', 'search']);
  assert.match(stdout, /^SERVER +TOOLS +PROBES +FOUND FIRST +AMONG FIVE\n/);
  assert.match(stdout, /^docs +4 +\d/m);
  assert.deepEqual([code, stderr !== ''], stdout.includes('Tools ') ? [1, true] : [0, false]);
  const answer = JSON.parse((await run(['doctor', 'search', '--json'])).stdout);
  assert.equal(typeof answer.ok, 'boolean');
  assert.ok(Array.isArray(answer.indistinct));
});

test('wrong input ends with 2, what does not exist with 4, a role that is too small with 5', async () => {
  const { token } = await json<{ token: string }>('token', 'create', 'looker', '--role', 'viewer');
  const cases: [string[], number, RegExp][] = [
    [['search'], 2, /Describe the task, or its steps with --step/],
    [['search', '--step', ' '], 2, /queries/],
    [['search', 'x', '--limit', 'many'], 2, /--limit: "many" is not a number/],
    [['search', 'x', '--limit', '0'], 2, /limit/],
    [['search', 'x', '--strategy', 'magic'], 2, /strategy/],
    [['query', 'x', '--max-results', '5'], 2, /maxResults: Must be between 10 and 100, got 5/],
    [['query', 'x', '--rerank', 'magic'], 2, /rerank/],
    [['query', 'x', '--token', token], 5, /role/i],
    [['skills', 'set', 'new_one'], 2, /--name and --description are required/],
    [['skills', 'set', 'New', '--name', 'x', '--description', 'x'], 2, /id must start with a lowercase letter/],
    [['skills', 'remove', 'nobody'], 4, /Skill not found/],
    [['skills', 'remove', 'nobody', '--token', token], 5, /role/i],
    [['profile', 'set', 'Bad'], 2, /name must start with a lowercase letter/],
    [['profile', 'remove', 'nobody'], 4, /Profile not found/],
    [['audit', 'list', '--since', 'soon'], 2, /since/],
    [['audit', '--token', token], 5, /role/i],
  ];
  for (const [words, code, message] of cases) {
    const ran = await run(words);
    assert.equal(ran.code, code, `${words.join(' ')}: ${ran.stderr}`);
    assert.match(ran.stderr, message);
    assert.equal(ran.stdout, '', words.join(' '));
  }
});
