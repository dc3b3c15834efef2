/** Published servers behind the aggregator, used by several clients at once: each behaves as if it stood alone. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Client } from '@modelcontextprotocol/client';
import { type ClientRevision, connectClient, createToken } from '../mcp/clients.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { listenLocally, type RunningServer } from '../support/servers/http-wire.ts';

const packageProgram = (name: string, file: string) => join(import.meta.dirname, '../../node_modules', name, file);

suite('server-filesystem, which asks its client for directories', () => {
  let app: TestApp;
  const directories: string[] = [];
  const newDirectory = (file: string) => {
    const directory = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-aggregator-roots-')));
    writeFileSync(join(directory, file), file);
    directories.push(directory);
    return directory;
  };

  before(async () => {
    app = await startApp();
    const args = [packageProgram('@modelcontextprotocol/server-filesystem', 'dist/index.js'), newDirectory('default')];
    await app.add('fs', { command: process.execPath, args });
  });
  after(async () => {
    await app.close();
    for (const directory of directories) rmSync(directory, { recursive: true });
  });

  /** A client that works in one directory. */
  async function clientIn(directory: string, revision: ClientRevision, token?: string): Promise<Client> {
    const uri = pathToFileURL(directory).href;
    return await connectClient(app, {
      revision,
      token,
      name: 'editor',
      capabilities: { roots: { listChanged: true } },
      prepare: (client) => client.setRequestHandler('roots/list', () => ({ roots: [{ uri, name: 'project' }] })),
    });
  }

  const allowed = async (client: Client): Promise<string> => {
    const { content } = await client.callTool({ name: 'fs__list_allowed_directories', arguments: {} });
    return (content as { text: string }[]).map(({ text }) => text).join('');
  };

  for (const revision of ['2025-06-18', '2025-11-25', '2026-07-28'] as const) {
    test(`MCP-023: two ${revision} clients with one token see their own directories from the first call on`, async (t) => {
      const [left, right] = [newDirectory('left'), newDirectory('right')];
      const clients = [await clientIn(left, revision), await clientIn(right, revision)] as const;
      t.after(() => Promise.all(clients.map((client) => client.close())));
      const seen = await Promise.all(clients.map(allowed));
      assert.deepEqual(seen.map(linesOf), [[left], [right]]);
      assert.deepEqual(linesOf(await allowed(clients[0])), [left], 'and from then on');
      const read = await clients[1].callTool({ name: 'fs__read_text_file', arguments: { path: join(left, 'left') } });
      assert.equal(read.isError, true, "another project's files stay out of reach");
    });
  }

  test('the record says why clients have sessions of their own', async () => {
    const { sessions } = await app.server('fs');
    assert.deepEqual([sessions.ownership, sessions.source], ['client', 'observed']);
    assert.match(sessions.reason, /roots\/list/);
  });

  test('clients without roots, and two tokens, get the directories of the command line', async (t) => {
    const client = await connectClient(app, { token: await createToken(app, { role: 'caller' }) });
    t.after(() => client.close());
    assert.deepEqual(linesOf(await allowed(client)), [directories[0]]);
  });

  /** The lines that are paths. */
  const linesOf = (text: string) => text.split('\n').filter((line) => line.startsWith('/'));
});

const browserPath = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(existsSync);

suite('@playwright/mcp, which keeps a browser', { skip: browserPath === undefined && 'no Chromium here' }, () => {
  let app: TestApp;
  let page: RunningServer;
  const output = mkdtempSync(join(tmpdir(), 'mcp-aggregator-browser-'));

  before(async () => {
    app = await startApp({ MCP_AGGREGATOR_REQUEST_TIMEOUT: '60', MCP_AGGREGATOR_CONNECTION_TIMEOUT: '30' });
    page = await listenLocally('/', 0, () => ({ close: () => undefined, handle: servePage }));
    const program = packageProgram('@playwright/mcp', 'cli.js');
    const options = ['--headless', '--isolated', '--no-sandbox', '--executable-path', browserPath ?? ''];
    await app.add('browser', { command: process.execPath, args: [program, ...options, '--output-dir', output] });
  });
  after(async () => {
    await app.close();
    await page.close();
    rmSync(output, { recursive: true });
  });

  /** A page with a button that changes its heading, named after its address. */
  function servePage(request: IncomingMessage, response: ServerResponse): void {
    const name = new URL(request.url ?? '/', 'http://localhost').searchParams.get('name');
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<title>${name}</title><h1>Hello ${name}</h1>
      <button onclick="document.querySelector('h1').textContent = '${name} was clicked'">Press</button>`);
  }

  async function use(client: Client, tool: string, args: Record<string, unknown> = {}): Promise<string> {
    const { content, isError } = await client.callTool({ name: `browser__browser_${tool}`, arguments: args });
    const text = (content as { text?: string }[]).map((block) => block.text ?? '').join('\n');
    assert.notEqual(isError, true, text);
    return text;
  }

  test('it is known to keep state before the first call', async () => {
    const { sessions } = await app.server('browser');
    assert.deepEqual([sessions.ownership, sessions.source], ['client', 'inferred']);
  });

  test('MCP-024: two clients with two tokens navigate, look, click and look again, each in their own browser', async (t) => {
    const token = await createToken(app, { role: 'caller' });
    const clients = [
      { name: 'Ada', client: await connectClient(app, { revision: '2025-11-25' }) },
      { name: 'Bob', client: await connectClient(app, { revision: '2026-07-28', token }) },
    ];
    t.after(() => Promise.all(clients.map(({ client }) => client.close())));
    await Promise.all(clients.map(({ name, client }) => use(client, 'navigate', { url: `${page.url}?name=${name}` })));
    for (const { name, client } of clients) {
      const seen = await use(client, 'snapshot');
      assert.match(seen, new RegExp(`Hello ${name}`));
      const [, ref = ''] = /button "Press" .*?\[ref=(\w+)\]/.exec(seen) ?? [];
      await use(client, 'click', { element: 'the button', ref, target: ref });
    }
    for (const { name, client } of clients)
      assert.match(await use(client, 'snapshot'), new RegExp(`${name} was clicked`));
  });
});

suite('server-filesystem in a directory with thousands of files', () => {
  let app: TestApp;
  let directory: string;

  before(async () => {
    app = await startApp();
    directory = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-aggregator-many-files-')));
    for (let folder = 0; folder < 80; folder += 1) {
      const parts = join(directory, `archive-${folder}`);
      mkdirSync(parts);
      for (let file = 0; file < 100; file += 1) {
        writeFileSync(join(parts, `measurement-of-the-instrument-${file}.csv`), '1;2;3');
      }
    }
    mkdirSync(join(directory, 'papers'));
    writeFileSync(join(directory, 'papers', 'invoice-acme.txt'), 'Invoice 2026-10 from ACME, 120 EUR');
    const program = packageProgram('@modelcontextprotocol/server-filesystem', 'dist/index.js');
    await app.add('many', { command: process.execPath, args: [program, directory] });
  });
  after(async () => {
    await app.close();
    rmSync(directory, { recursive: true });
  });

  test('Q-014: files that a shortened tree does not show are found by their names', async () => {
    const { body } = await app.api('POST', '/api/v1/query', { query: 'which invoice is from ACME?' });
    assert.match(body.results[0]?.content ?? JSON.stringify(body), /120 EUR/);
  });
});
