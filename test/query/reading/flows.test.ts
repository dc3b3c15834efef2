import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, suite, test } from 'node:test';
import { type Body, startApp, type TestApp } from '../../support/app.ts';
import { startHttpProgram } from '../../support/servers/http-program.ts';
import type { RunningServer } from '../../support/servers/http-wire.ts';
import type { Program } from '../../support/servers/program.ts';
import {
  createGauges,
  createInFlightTable,
  createLetters,
  createPlant,
  createProjects,
  createSearch,
  createTracker,
  createVault,
  createWiki,
  type Paging,
  stdioVault,
} from './flow-servers.ts';

suite('one question to a server that must be read in its own way', () => {
  let app: TestApp;
  const running: RunningServer[] = [];

  before(async () => {
    app = await startApp();
  });
  after(async () => {
    await app.close();
    for (const server of running) await server.close();
  });

  async function serve(name: string, program: Program): Promise<string> {
    const server = await startHttpProgram(program, { transport: 'streamable-legacy' });
    running.push(server);
    return await app.add(name, { base_url: server.url });
  }

  /** Resources become known after the tools; a registration alone announces changes of every kind. */
  async function serveResources(name: string, program: Program): Promise<void> {
    const id = await serve(name, program);
    const isDiscovered = (changed: Body) => changed.server_id === id && changed.resources && !changed.tools;
    await app.seen.waitFor('catalog.changed', isDiscovered);
  }

  async function ask(server: string, query: string): Promise<Body> {
    const { status, body } = await app.api('POST', '/api/v1/query', { query, servers: [server], compact: false });
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  /** As many calls run at once, and arrive in any order. */
  const atOnce = 3;

  const callsOf = ({ metadata }: Body): string[] => metadata.servers[0].calls.map(({ tool }: Body) => tool);

  test('a list of ids leads to the reader that takes them', async () => {
    const calls: string[] = [];
    await serve('projects', createProjects(calls));
    const { results } = await ask('projects', 'what did the committee decide for the cricket pavilion?');
    assert.match(results[0]?.content ?? '', /scoreboard with lamps/);
    const [first, ...reads] = calls;
    assert.equal(first, 'list_projects {}');
    assert.ok(reads.slice(0, atOnce).includes('get_project {"project_id":"p-3"}'), 'what fits comes first');
  });

  test('bare paths are read; the second question goes to the file at once', async () => {
    const calls: string[] = [];
    await serve('vault', createVault(calls));
    const first = await ask('vault', 'who services the boiler?');
    assert.match(first.results[0]?.content ?? '', /Harlow & Sons/);
    assert.equal(calls[0], 'list_notes {}');
    calls.length = 0;
    const second = await ask('vault', 'which oil does the outboard engine take?');
    assert.match(second.results[0]?.content ?? '', /10W-40/);
    assert.ok(calls.slice(0, atOnce).includes('read_note {"path":"boats/engine.md"}'), 'what there is was known');
    assert.ok(!calls.includes('list_notes {}'));
    assert.ok(!calls.some((call) => call.startsWith('delete_note')));
  });

  test('the same over stdio, with a program of this machine', async () => {
    await app.add('vault-child', stdioVault);
    const { results } = await ask('vault-child', 'when is the hedge along the lane cut?');
    assert.match(results[0]?.content ?? '', /September/);
  });

  test('resources are ranked, and those that fit are read first', async () => {
    const reads: string[] = [];
    await serveResources('wiki', createWiki(reads));
    const { results } = await ask('wiki', 'how often is the organ tuned, and by whom?');
    assert.match(results[0]?.content ?? '', /Willis twice a year/);
    assert.ok(reads.slice(0, atOnce).includes('wiki://organ-tuning'));
    assert.ok(reads.length <= 40, `${reads.length} of 84 were read`);
  });

  test('a template is filled with what the server suggests', async () => {
    const calls: string[] = [];
    await serveResources('gauges', createGauges(calls));
    const { results } = await ask('gauges', 'what is the river level at Tadcaster?');
    assert.match(results[0]?.content ?? '', /Tadcaster is 9,9 metres/);
    assert.deepEqual(calls.slice(0, 2), ['complete name ""', 'read gauge://Tadcaster/level']);
  });

  test('a plain reader is called when it fits; others, secrets and what changes something are not', async () => {
    const calls: string[] = [];
    await serve('plant', createPlant(calls));
    const { results } = await ask('plant', 'is the build green?');
    assert.match(results[0]?.content ?? '', /step "lint" failed/);
    assert.ok(calls.slice(0, atOnce).includes('get_build_status {}'));
    assert.ok(!calls.some((call) => /secrets|restart/.test(call)), calls.join(', '));
    assert.ok(!calls.includes('get_canteen_menu {}'), calls.join(', '));
  });

  test('a database is asked for its tables once, then for rows, and only by SELECT', async () => {
    using database = new DatabaseSync(':memory:');
    database.exec(`
      create table suppliers (id integer primary key, name text, town text);
      create table deliveries (id integer primary key, supplier_id integer, goods text, weight real);
      insert into suppliers values (1, 'Oakley Timber', 'Malton'), (2, 'Pickering Stone', 'Thirsk');
      insert into deliveries values (1, 1, 'larch boards', 300), (2, 2, 'kerb stones', 900), (3, 1, 'oak beams', 450);
    `);
    const calls: string[] = [];
    await serve('ledger', createInFlightTable(database, calls));
    const { results } = await ask('ledger', 'who supplied the kerb stones?');
    assert.match(results[0]?.content ?? '', /Pickering Stone/);
    const catalogue = () => calls.filter((call) => call.includes('sqlite_master')).length;
    assert.equal(catalogue(), 1);
    const counted = await ask('ledger', 'how many deliveries came from Oakley Timber?');
    assert.match(counted.results[0]?.content ?? '', /\b2\b/);
    assert.equal(catalogue(), 1, 'the tables are known');
    assert.ok(
      calls.every((call) => /"query":"SELECT .*"/.test(call)),
      calls.join('\n'),
    );
  });

  for (const paging of ['cursor', 'page', 'next link'] as const satisfies Paging[])
    test(`pages are followed until the answer is there: ${paging}`, async () => {
      const calls: string[] = [];
      const name = `tracker-${paging.replace(' ', '-')}`;
      await serve(name, createTracker(paging, calls));
      const { results } = await ask(name, 'why does the greenhouse heater trip the fuse?');
      assert.match(results[0]?.content ?? '', /when the pump starts/);
      assert.equal(calls.length, 5);
    });

  test('paging ends when the pages repeat, and is bounded when they never do', async () => {
    const same: string[] = [];
    await serve('tracker-same', createTracker('same page', same));
    assert.deepEqual((await ask('tracker-same', 'why does the greenhouse heater trip the fuse?')).results, []);
    assert.equal(same.length, 2, 'the second page was the first again');
    const endless: string[] = [];
    await serve('tracker-endless', createTracker('endless', endless));
    assert.deepEqual((await ask('tracker-endless', 'why does the greenhouse heater trip the fuse?')).results, []);
    assert.ok(endless.length > 5 && endless.length <= 13, `${endless.length} pages`);
  });

  test('a search that finds nothing for a sentence is asked for its words', async () => {
    const calls: string[] = [];
    await serve('letters', createLetters(calls));
    const { results } = await ask('letters', 'what does the sluice gate need before the floods?');
    assert.match(results[0]?.content ?? '', /new chain/);
    assert.ok(calls.includes('search_letters {"query":"what does the sluice gate need before the floods?"}'));
    const before = calls.length;
    const unknown = await ask('letters', 'where did the archbishop buy his telescope?');
    assert.deepEqual(unknown.results, [], '"No letters found" is no result');
    assert.ok(calls.length > before);
  });

  test('what is no tool result is a failure, and a tool that keeps answering so is paused', async () => {
    const calls: string[] = [];
    await serve(
      'nonsense',
      createSearch(calls, () => ({ content: 'x' })),
    );
    await serve(
      'sound',
      createSearch([], () => ({ content: [{ type: 'text', text: 'The key hangs behind the door.' }] })),
    );
    const all = async () =>
      (await app.api('POST', '/api/v1/query', { query: `where is the key? ${calls.length}`, compact: false })).body;
    const first = await all();
    const report = first.metadata.servers.find(({ server }: Body) => server === 'nonsense');
    assert.deepEqual([report.ok, typeof report.error], [false, 'string']);
    await all();
    await all();
    const before = calls.length;
    const { metadata } = await all();
    assert.equal(calls.length, before);
    const skipped = metadata.skipped.find(({ server }: Body) => server === 'nonsense');
    assert.equal(skipped?.reason, 'paused because these tools kept failing: search_docs');
  });

  test('the calls that were made are in the answer', async () => {
    const body = await ask('projects', 'what did the committee decide for the village hall?');
    assert.ok(callsOf(body).includes('get_project'));
    assert.equal(body.metadata.serversSucceeded, 1);
  });

  test('a server that hangs is a timeout, in the answer, in the log and in the figures', async () => {
    await serve(
      'hanging',
      createSearch([], () => new Promise(() => undefined)),
    );
    const { status, body } = await app.api('POST', '/api/v1/query', {
      query: 'where is the key?',
      servers: ['hanging'],
    });
    assert.equal(status, 503);
    assert.deepEqual(body.context.errors, ['hanging: timeout after 3s']);
    const logged = app.log.map((line) => JSON.parse(line)).filter(({ server }) => server === 'hanging');
    assert.ok(
      logged.some(({ level, error }) => level === 'warn' && error === 'timeout after 3s'),
      JSON.stringify(logged.at(-1)),
    );
    const metrics = await fetch(`${app.url}/metrics`, { headers: { authorization: `Bearer ${app.adminToken}` } });
    const counted = (await metrics.text()).split('\n').filter((line) => /hanging/.test(line));
    assert.ok(
      counted.some((line) => /timeout/.test(line)),
      counted.join('\n'),
    );
    assert.ok(!counted.some((line) => /cancelled/.test(line) && !/ 0$/.test(line)), counted.join('\n'));
  });
});
