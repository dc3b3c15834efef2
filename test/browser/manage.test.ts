/** Adding servers, access, settings and queries, as people use them. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { type AggregatorProcess, startAggregator } from '../support/aggregator-process.ts';
import { until } from '../support/until.ts';
import { assertAccessible, createVisitor, launchBrowser, signIn, skipReason, type Visitor } from './browser.ts';

const travelServer = fileURLToPath(new URL('./travel-server.ts', import.meta.url));
const kitchen = fileURLToPath(new URL('./playground-server.ts', import.meta.url));

suite('managing the aggregator in the dashboard', { skip: skipReason }, () => {
  let aggregator: AggregatorProcess;
  let browser: Browser;
  let visitor: Visitor;
  let page: Page;

  before(async () => {
    [browser, aggregator] = await Promise.all([launchBrowser(), startAggregator()]);
    await addServer('booking', travelServer, '0');
    visitor = await createVisitor(browser, aggregator.url);
    page = visitor.page;
    await signIn(page, aggregator.token);
  });

  afterEach(() => {
    assert.deepEqual(visitor.complaints.splice(0), []);
  });

  after(async () => {
    await visitor?.close();
    await browser?.close();
    await aggregator?.stop();
  });

  async function send<Answer>(method: string, path: string, body?: unknown, more: Record<string, string> = {}) {
    const response = await fetch(`${aggregator.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${aggregator.token}`, 'content-type': 'application/json', ...more },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as Answer;
  }

  async function addServer(name: string, ...args: string[]): Promise<void> {
    await send('POST', '/api/v1/aggregator/servers', {
      name,
      transport_type: 'STDIO',
      connection_config: { command: process.execPath, args },
    });
    await aggregator.logged((record) => record.server === name && record.status === 'CONNECTED');
  }

  const dialog = () => page.getByRole('dialog');

  test('a query that no server can answer says why, and names the tools that were left out', async () => {
    await page.goto('/#/query');
    await page.getByLabel('Question').fill('how are failed requests retried');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByRole('heading', { name: 'No server could be asked' }).waitFor();
    const notAsked = page.getByRole('list', { name: 'Servers that were not asked' });
    await notAsked.getByText('booking').waitFor();
    await notAsked.getByText(/\d+ tools? not used/).click();
    await notAsked.getByText('book_trip').waitFor();
    assert.equal(await page.getByText('unavailable').count(), 0);
    await assertAccessible(page, 'a query without an answer');
  });

  test('a whole command line is split, and Undo keeps what was entered', async () => {
    await page.goto('/#/servers/+?way=form');
    await page.getByLabel('Name required').fill('missing');
    const script =
      'console.error("npm error code E404\\nnpm error 404 Not Found - GET https://x/@a%2fb - Not found"), process.exit(1)';
    await page.getByLabel(/^Command/).fill(`MODE=test '${process.execPath}' -e '${script}'`);
    await page.getByLabel('Description').focus();
    await page.getByText('The command line was split').waitFor();
    assert.equal(await page.getByLabel(/^Command/).inputValue(), process.execPath);
    assert.equal(await page.getByLabel('Arguments').inputValue(), `-e\n${script}`);
    assert.equal(await page.getByLabel('Value of MODE').inputValue(), 'test');
    await page.getByRole('button', { name: 'Add and connect' }).click();
    await page.getByText(/npm E404: the package .* is not in the registry; check its name/).waitFor();
    await page.getByRole('button', { name: 'Undo and edit' }).click();
    assert.equal(await page.getByLabel('Name required').inputValue(), 'missing');
    await page.getByLabel('Name required').fill('kitchen');
    await page.getByLabel('Arguments').fill(kitchen);
    await page.getByRole('button', { name: 'Add and connect' }).click();
    await page.getByText('Connected: 6 tools.').waitFor();
    await page.goto('/#/access');
    await page.getByRole('heading', { name: 'My tokens' }).waitFor();
    await send('DELETE', '/api/v1/aggregator/servers/kitchen');
    // While it was removed, the page asked for what was gone.
    visitor.complaints.splice(0);
  });

  test('tabs have addresses and follow the arrow keys', async () => {
    await page.goto('/#/access');
    await page.getByRole('tab', { name: 'My tokens' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('heading', { name: 'People and tokens', level: 1 }).waitFor();
    await page.keyboard.press('End');
    await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor();
    assert.equal(new URL(page.url()).hash, '#/access/audit');
    assert.match(await page.title(), /^Audit · Access/);
    await page.goBack();
    await page.getByRole('heading', { name: 'People and tokens', level: 1 }).waitFor();
  });

  test('a token that is shown once can be copied without a secure context, too', async () => {
    await page.goto('/#/access/tokens');
    await page.getByLabel('Token name').fill('laptop');
    await page.getByRole('button', { name: 'Create' }).click();
    const token = (await page.locator('.secret').textContent()) ?? '';
    assert.match(token, /^mcpa_/);
    await page.evaluate("Object.defineProperty(window, 'isSecureContext', { value: false })");
    await page.getByRole('button', { name: 'Copy', exact: true }).click();
    assert.equal(await dialog().getByLabel('Text to copy').inputValue(), token);
    await page.reload();
    await page.getByRole('button', { name: 'Revoke laptop' }).waitFor();
    assert.ok(!(await page.content()).includes(token));
    await page.getByRole('button', { name: 'Revoke laptop' }).click();
    await dialog().getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('rowheader', { name: 'laptop' }).waitFor({ state: 'detached' });
  });

  test('my keys: servers that ask for keys, which of them are missing, and the way to enter them', async () => {
    await page.goto('/#/access/tokens');
    await page.getByRole('form', { name: 'New token' }).waitFor();
    assert.equal(await page.getByRole('region', { name: 'My keys' }).count(), 0, 'no server asks for keys');
    await send('POST', '/api/v1/aggregator/servers', {
      name: 'tickets',
      transport_type: 'STDIO',
      connection_config: { command: process.execPath, args: [travelServer, '0'], env: { API_KEY: '${user:API_KEY}' } },
    });
    await page.reload();
    const section = page.getByRole('region', { name: 'My keys' });
    await section.getByText('API_KEY (missing)').waitFor();
    await assertAccessible(page, 'my keys');
    await section.getByRole('link', { name: 'Enter keys for tickets' }).click();
    await page.getByLabel('API_KEY').fill('a-key-of-mine');
    await page.getByRole('button').click();
    await page.getByText('Saved.').waitFor();
    await page.goto('/#/access/tokens');
    await section.getByText('API_KEY (entered').waitFor();
    await section.getByRole('link', { name: 'Change keys for tickets' }).waitFor();
    assert.ok(!(await page.content()).includes('a-key-of-mine'));
    await send('DELETE', '/api/v1/aggregator/servers/tickets');
  });

  async function listed(profile: string): Promise<string[]> {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const { result } = await send<{ result: { tools: { name: string }[] } }>(
      'POST',
      `/mcp/profiles/${profile}`,
      { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } },
      {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/list',
      },
    );
    return result.tools.map(({ name }) => name).sort();
  }

  test('a profile previews what a client really gets, and is made of checkboxes', async () => {
    await addServer('travel', travelServer, '100');
    await page.goto('/#/access/profiles');
    await page.getByRole('button', { name: 'New profile' }).click();
    const form = dialog().getByRole('form', { name: 'Profile' });
    await form.getByLabel('Name').fill('trips');
    const preview = form.getByRole('region', { name: 'Preview' });
    await preview.getByText(/^\d+ tools?, about .* With the search tools, it finds 102 tools/).waitFor();
    await assertAccessible(page, 'a profile');
    await form.getByLabel('All servers').uncheck();
    await form.getByLabel('booking').uncheck();
    await form.getByLabel('All tools of these servers').uncheck();
    await form.getByText('101 of 101 tools').click();
    await form.getByLabel('All of travel').uncheck();
    await preview.getByText('No tools match').waitFor();
    await form.getByLabel('book_trip').check();
    await form.getByLabel('Find a tool').fill('recipe_7');
    await form.getByLabel('create_recipe_70').check();
    await form.getByLabel('Patterns').fill('travel.*_song_6*\n');
    await preview.getByText(/^1\d tools, about/).waitFor();
    await preview.getByText(/^Listed/).click();
    const previewed = (await preview.getByRole('list', { name: 'Listed' }).locator('code').allTextContents()).sort();
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The profile trips was saved.').waitFor();
    assert.deepEqual(previewed, await listed('trips'));

    await page.getByRole('link', { name: 'trips' }).click();
    await form.getByRole('button', { name: 'Remove' }).click();
    await page
      .getByRole('dialog', { name: /^Remove the profile/ })
      .getByRole('button', { name: 'Remove' })
      .click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await until(async () => (await listed('trips').catch(() => [])).length === previewed.length);
  });

  test('"auto" shows the cost of the search tools where a client would get them', async () => {
    await send('PUT', '/api/v1/profiles/everything', { exposure: 'auto' });
    await page.goto('/#/access/profiles');
    await page.reload();
    const names = await listed('everything');
    assert.ok(names.length < 20);
    await page
      .getByRole('row', { name: /^everything/ })
      .getByText(`${names.length} tools, about`)
      .waitFor();
  });

  test('the audit is filtered by any part of a word, hides calls at first, and grows at its end', async () => {
    for (let number = 0; number < 120; number += 1) {
      await send('PUT', `/api/v1/profiles/p${number}`, { exposure: 'auto' });
    }
    await send('POST', '/api/v1/tools/call', { name: 'booking.book_trip', arguments: {} });
    await page.goto('/#/access/audit');
    const table = page.getByRole('region', { name: 'Audit records' });
    await table.getByText('profile').first().waitFor();
    assert.equal(await table.getByText('book_trip').count(), 0);
    const first = await table.getByRole('row').nth(1).textContent();
    await page.getByRole('button', { name: 'Show more' }).click();
    await until(async () => Number(await table.getByRole('table').getAttribute('aria-rowcount')) > 101);
    assert.equal(await table.getByRole('row').nth(1).textContent(), first);
    await page.getByLabel('Event, actor or server').fill('GISTER');
    await table.getByRole('link', { name: 'server.registered' }).first().click();
    await dialog().getByText('admin').waitFor();
    assert.match(page.url(), /q=GISTER.*record=\d+/);
    await assertAccessible(page, 'a record of the audit');
    await page.goBack();
    await dialog().waitFor({ state: 'detached' });
    await page.getByLabel('Kind').selectOption('Calls');
    await page.getByLabel('Event, actor or server').fill('');
    await table.getByText('book_trip').first().waitFor();
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByText('none changed, removed or inserted').waitFor();
  });

  test('categories are added, changed and removed', async () => {
    await page.goto('/#/settings/categories');
    await page.getByRole('button', { name: 'New category' }).click();
    const form = dialog().getByRole('form', { name: 'Category' });
    await form.getByLabel('ID').fill('pizza');
    await form.getByLabel('Name').fill('Pizza');
    await form.getByLabel('Description').fill('Ordering and baking pizza');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'Pizza' }).click();
    await form.getByLabel('Examples').fill('order a pizza\nbake a pizza');
    await assertAccessible(page, 'a category');
    await form.getByRole('button', { name: 'Save' }).click();
    await dialog().waitFor({ state: 'detached' });
    const { examples } = await send<{ examples: string[] }>('GET', '/api/v1/skills/pizza');
    assert.deepEqual(examples, ['order a pizza', 'bake a pizza']);
    await page.getByRole('link', { name: 'Pizza' }).click();
    await form.getByRole('button', { name: 'Remove' }).click();
    await page
      .getByRole('dialog', { name: /^Remove the category/ })
      .getByRole('button', { name: 'Remove' })
      .click();
    await page.getByRole('link', { name: 'Pizza' }).waitFor({ state: 'detached' });
  });

  test('query rules are written, ordered and saved', async () => {
    await page.goto('/#/settings/rules');
    await page.getByRole('button', { name: 'Add a rule' }).click();
    await page.getByLabel('Pattern of rule 1').fill('trip|hotel');
    await page.getByRole('group', { name: 'Servers of rule 1' }).getByLabel('booking').check();
    await page.getByRole('button', { name: 'Add a rule' }).click();
    await page.getByLabel('Pattern of rule 2').fill('pizza');
    await page.getByRole('group', { name: 'Servers of rule 2' }).getByLabel('booking').check();
    await page.getByRole('button', { name: 'Move rule 2 up' }).click();
    await assertAccessible(page, 'query rules');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The query rules were saved.').waitFor();
    const { serverRules } = await send<{ serverRules: { pattern: string }[] }>('GET', '/api/v1/query/rules');
    assert.deepEqual(
      serverRules.map(({ pattern }) => pattern),
      ['pizza', 'trip|hotel'],
    );
    await page.getByRole('button', { name: 'Undo' }).last().click();
    await page.getByText('No rules: every question').waitFor();
  });

  test('a backup is downloaded and imported; other files are refused', async () => {
    await page.goto('/#/settings/backup');
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download the backup' }).click();
    const file = join(aggregator.dataDir, 'backup.json');
    await (await downloading).saveAs(file);
    const other = join(aggregator.dataDir, 'other.json');
    writeFileSync(other, '{}');
    await page.getByLabel('Backup file').setInputFiles(other);
    await page.getByText('other.json is not a backup').waitFor();
    await page.getByLabel('Backup file').setInputFiles(file);
    await dialog().getByRole('button', { name: 'Import' }).click();
    await page.getByText('Imported.').waitFor();
    await assertAccessible(page, 'backup');
  });

  for (const [name, hash] of [
    ['the form for a server', '#/servers/+?way=form'],
    ['my tokens', '#/access/tokens'],
    ['people and tokens', '#/access/people'],
    ['profiles', '#/access/profiles'],
    ['categories', '#/settings/categories'],
    ['appearance', '#/settings/appearance'],
  ] as const) {
    test(`axe-core finds nothing on ${name}, light, dark and on a phone`, async () => {
      await page.goto(`/${hash}`);
      await page.getByRole('tabpanel').locator('table, form, input').first().waitFor();
      await assertAccessible(page, name);
    });
  }
});
