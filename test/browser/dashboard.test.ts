/** The dashboard as people use it: a real browser, the real aggregator, real servers. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, suite, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { commandsOf, everything } from '../cli/command-line.ts';
import { connectClient } from '../mcp/clients.ts';
import { type AggregatorProcess, startAggregator } from '../support/aggregator-process.ts';
import { createDocumentation, createOddDocumentation, startDocumentation } from '../support/servers/documentation.ts';
import { text } from '../support/servers/program.ts';
import {
  accessibilityProblems,
  assertAccessible,
  createVisitor,
  launchBrowser,
  signIn,
  skipReason,
  type Visitor,
} from './browser.ts';

const travelServer = new URL('./travel-server.ts', import.meta.url).pathname;
const travel = (name: string, tools: number) => ({
  name,
  transport_type: 'STDIO',
  connection_config: { command: process.execPath, args: [travelServer, String(tools)] },
});
const featureServer = new URL('../support/servers/stdio-legacy.ts', import.meta.url).pathname;

suite('the dashboard', { skip: skipReason }, () => {
  let aggregator: AggregatorProcess;
  let browser: Browser;
  let home: string;
  const visitors: Visitor[] = [];

  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'dashboard-'));
    mkdirSync(join(home, '.cursor'));
    const [command, script] = everything;
    writeFileSync(
      join(home, '.cursor', 'mcp.json'),
      JSON.stringify({ mcpServers: { everything: { command, args: [script] } } }),
    );
    browser = await launchBrowser();
    aggregator = await startAggregator({ env: { HOME: home, MCP_AGGREGATOR_MAX_TOOLS_PER_SERVER: '10000' } });
  });

  afterEach(async () => {
    for (const visitor of visitors.splice(0)) {
      await visitor.close();
      assert.deepEqual(visitor.complaints, []);
    }
  });

  after(async () => {
    await browser?.close();
    await aggregator?.stop();
    rmSync(home, { recursive: true, force: true });
  });

  async function visit(): Promise<Page> {
    const visitor = await createVisitor(browser, aggregator.url);
    visitors.push(visitor);
    return visitor.page;
  }

  async function visitSignedIn(hash = ''): Promise<Page> {
    const page = await visit();
    await signIn(page, aggregator.token);
    if (hash !== '') await page.goto(`/${hash}`);
    return page;
  }

  async function send(method: string, path: string, body?: unknown) {
    const response = await fetch(`${aggregator.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${aggregator.token}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${await response.clone().text()}`);
    return response;
  }

  test('a new user signs in, imports what a client has, finds a tool and calls it', async () => {
    const page = await visit();
    await page.goto('/');
    await page.getByLabel('Token').fill('not-a-token');
    const refused = page.waitForResponse((response) => response.status() === 401);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await refused;
    await page.getByRole('alert').getByText('not valid').waitFor();
    // The browser itself notes the refused request.
    visitors[0]?.complaints.splice(0);

    await page.getByLabel('Token').fill(aggregator.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Add a server' }).waitFor();
    const stored = await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])');
    assert.ok(!String(stored).includes(aggregator.token), 'the token is not where scripts can read it');

    await page.getByRole('heading', { name: 'Cursor' }).waitFor();
    await page.getByRole('button', { name: 'Add new servers' }).click();
    await page.getByRole('heading', { name: /Add a server.*1 server added/ }).waitFor();
    await page.getByRole('button', { name: /^Call / }).click();
    await page.getByRole('heading', { name: /Try a tool.*1 call made/ }).waitFor();
    await page.getByText('mcp-aggregator connect-client claude-code').waitFor();
    const client = await connectClient({ url: aggregator.url, adminToken: aggregator.token }, { name: 'an editor' });
    await client.callTool({ name: 'everything__echo', arguments: { message: 'hello' } });
    await client.close();
    await page.getByRole('region', { name: 'First steps' }).waitFor({ state: 'detached' });
    await page.getByText('an editor · admin').waitFor();
    await page.getByRole('link', { name: 'Servers', exact: true }).first().click();
    await page.locator('[data-status=CONNECTED]').waitFor();

    await page.getByRole('link', { name: 'Tools', exact: true }).click();
    await page.getByLabel('What do you want to do?').fill('echo back a message');
    await page.getByRole('link', { name: 'echo', exact: true }).click();
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByText('message is required').first().waitFor();
    await page.getByLabel(/^message/).fill('hello from the page');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByText('Echo: hello from the page').first().waitFor();

    await page.getByRole('button', { name: 'Command line' }).click();
    await page.getByText('Copied').waitFor();
    const copied = String(await page.evaluate('navigator.clipboard.readText()'));
    assert.equal(copied, `mcp-aggregator call everything.echo '{"message":"hello from the page"}'`);
    await page.getByRole('link', { name: 'Traffic' }).click();
    await page.getByRole('row', { name: /echo everything ok .*dashboard · admin/ }).waitFor();
  });

  test('the link of "mcp-aggregator open" signs in once', async () => {
    const { url } = await commandsOf(aggregator).json<{ url: string }>('open', '--no-browser');
    const page = await visit();
    await page.goto(url);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const second = await visit();
    await second.goto(url);
    await second.getByText('was already used').waitFor();
    visitors.at(-1)?.complaints.splice(0);
  });

  test('the link of somebody else asks before it replaces a session, and is good until then', async () => {
    const created = await send('POST', '/api/v1/tokens', { name: 'mallory', role: 'viewer' });
    const { token } = (await created.json()) as { token: string };
    const link = async (authorization: string) => {
      const response = await fetch(`${aggregator.url}/api/v1/session/links`, {
        method: 'POST',
        headers: { authorization: `Bearer ${authorization}` },
      });
      return `${aggregator.url}${((await response.json()) as { path: string }).path}`;
    };
    const whoAmI = (page: Page) =>
      page.evaluate(async () => ((await (await fetch('/api/v1/session')).json()) as { name: string }).name);

    const page = await visitSignedIn();
    const url = await link(token);
    await page.goto(url);
    await page.getByText('You are signed in as admin (admin). This link signs you in as mallory (viewer).').waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);
    assert.equal(await whoAmI(page), 'admin');
    await page.getByRole('link', { name: 'Stay signed in as admin' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.equal(await whoAmI(page), 'admin');

    await page.goto(url);
    await page.getByRole('button', { name: 'Sign in as mallory' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.equal(await whoAmI(page), 'mallory');

    // One's own link has nothing to ask.
    await page.goto(await link(token));
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    // The browser itself notes both refusals.
    const complaints = visitors.at(-1)?.complaints.splice(0) ?? [];
    assert.deepEqual([complaints.length, complaints.every((one) => one.includes('409'))], [2, true], complaints.join());
  });

  test('a page on another port of this host cannot sign anybody in', async () => {
    const elsewhere = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html').end('<title>elsewhere</title>');
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    const page = await visit();
    const { port } = elsewhere.address() as AddressInfo;
    // Without a type, a body needs no preflight and is read as JSON: the Origin alone tells.
    const attack = async ([target, body]: [string, string]) => {
      await fetch(target, { method: 'POST', mode: 'no-cors', credentials: 'include', body: new Blob([body]) });
    };
    await page.goto(`http://127.0.0.1:${port}/`);
    const answered = page.waitForResponse((response) => response.url().endsWith('/api/v1/session'));
    const body = JSON.stringify({ token: aggregator.token });
    await page.evaluate(attack, [`${aggregator.url}/api/v1/session`, body] as [string, string]);
    assert.equal((await answered).status(), 403);
    assert.deepEqual(await page.context().cookies(), []);
    visitors.at(-1)?.complaints.splice(0);
    elsewhere.close();
    elsewhere.closeAllConnections();
  });

  test('safe mode is said on every page, with what to do', async () => {
    const safe = await startAggregator({ env: { MCP_AGGREGATOR_SAFE_MODE: 'on' } });
    const visitor = await createVisitor(browser, safe.url);
    await signIn(visitor.page, safe.token);
    for (const section of ['Servers', 'Tools', 'Overview']) {
      await visitor.page.getByRole('link', { name: section, exact: true }).click();
      await visitor.page.getByText(/^Safe mode .*: no server is connected\. .* restart the aggregator\.$/).waitFor();
      await visitor.page.getByRole('heading', { name: section, level: 1 }).waitFor();
    }
    assert.deepEqual(await accessibilityProblems(visitor.page), []);
    await visitor.close();
    await safe.stop();
    assert.deepEqual(visitor.complaints, []);
  });

  test('signing out ends the session, also for somebody who kept the cookie', async () => {
    const page = await visitSignedIn();
    const [cookie] = await page.context().cookies();
    assert.ok(cookie?.httpOnly && cookie.sameSite === 'Strict');
    const ask = () =>
      fetch(`${aggregator.url}/api/v1/session`, { headers: { cookie: `${cookie.name}=${cookie.value}` } });
    assert.equal((await ask()).status, 200);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    assert.equal((await ask()).status, 204);
  });

  test('a page on another port of this host cannot use the session', async () => {
    const page = await visitSignedIn();
    const [cookie] = await page.context().cookies();
    const foreign = { origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' };
    const response = await fetch(`${aggregator.url}/api/v1/tokens`, {
      method: 'POST',
      headers: { cookie: `${cookie?.name}=${cookie?.value}`, 'content-type': 'application/json', ...foreign },
      body: JSON.stringify({ name: 'stolen', role: 'admin' }),
    });
    assert.equal(response.status, 401);
  });

  test('a call with nested arguments, checked before it is sent', async () => {
    await send('POST', '/api/v1/aggregator/servers', travel('travel', 0));
    const page = await visitSignedIn('#/tools/travel.book_trip');
    await page.getByLabel(/^destination/).fill('Lisbon');
    await page.getByRole('button', { name: 'Add to travellers' }).click();
    await page.getByLabel(/^name/).fill('Ada');
    await page.getByLabel(/^age/).fill('36');
    await page.getByLabel(/^email/).fill('nobody');
    await page.getByLabel(/^travel_class/).selectOption('business');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByText('must be an e-mail address').first().waitFor();
    await page.getByLabel(/^email/).fill('ada@example.com');
    await page.getByRole('button', { name: 'Write JSON' }).click();
    const sent = {
      destination: 'Lisbon',
      travel_class: 'business',
      travellers: [{ name: 'Ada', age: 36 }],
      contact: { email: 'ada@example.com', newsletter: false },
    };
    assert.deepEqual(JSON.parse(await page.getByLabel('Arguments as JSON').inputValue()), sent);
    await page.getByRole('button', { name: 'Use the form' }).click();
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    await page.getByText('Raw result').click();
    const answer = JSON.parse((await page.locator('.result pre').last().textContent()) ?? '');
    assert.deepEqual(JSON.parse(answer.content[0].text), sent);
  });

  test('an elicitation is answered in the page', async () => {
    const page = await visitSignedIn('#/tools/everything.trigger-elicitation-request');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    const question = page.getByRole('form', { name: 'The server requests input' });
    await question.getByLabel(/^String required/).fill('Ada Lovelace');
    await question.getByRole('button', { name: 'Answer' }).click();
    await page.getByRole('region', { name: 'Result' }).getByText('Ada Lovelace').first().waitFor();
  });

  test('a query shows each server while it is asked, when it has answered or failed, and can be cancelled', async (t) => {
    let answerLate: () => void = () => undefined;
    const late = new Promise<void>((resolve) => {
      answerLate = resolve;
    });
    const servers = {
      handbook: await startDocumentation(createDocumentation('handbook')),
      failing: await startDocumentation(
        createOddDocumentation('failing', { search: () => ({ ...text('the index is being rebuilt'), isError: true }) }),
      ),
      slow: await startDocumentation(
        createOddDocumentation('slow', { search: () => late.then(() => text('Failed requests are retried twice')) }),
      ),
    };
    t.after(async () => {
      for (const [name, server] of Object.entries(servers)) {
        await send('DELETE', `/api/v1/aggregator/servers/${name}`);
        await server.close();
      }
    });
    for (const [name, { url: base_url }] of Object.entries(servers)) {
      const transport_type = 'HTTP';
      await send('POST', '/api/v1/aggregator/servers', { name, transport_type, connection_config: { base_url } });
      await aggregator.logged((record) => record.server === name && record.status === 'CONNECTED');
    }
    await send('PUT', '/api/v1/query/rules', { serverRules: [{ pattern: '.*', servers: Object.keys(servers) }] });
    const page = await visitSignedIn('#/query');
    const server = (name: string) => page.getByRole('listitem').filter({ hasText: name });
    const ask = async () => {
      await page.getByLabel('Question').fill('how are failed requests retried');
      await page.getByRole('button', { name: 'Ask' }).click();
      await server('handbook')
        .getByText(/items? relevant/)
        .waitFor();
      await server('failing').getByText('the index is being rebuilt').first().waitFor();
      await server('slow').getByText('querying').waitFor();
      await page.getByText('2 of 3 servers done').waitFor();
    };
    await ask();
    assert.deepEqual(await accessibilityProblems(page), []);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('2 of 3 servers done, then cancelled').waitFor();
    await server('slow').getByText('skipped').waitFor();
    await ask();
    answerLate();
    await server('slow')
      .getByText(/items? relevant/)
      .waitFor();
    await page.getByRole('heading', { name: /\d+ results/ }).waitFor();
    await page.getByText(/From 2 of 3 servers in .*tokens became/).waitFor();
    await send('PUT', '/api/v1/query/rules', { serverRules: [] });
  });

  test('one call in detail says that payloads are not kept, and shows them to admins where the setting says so', async () => {
    const page = await visitSignedIn('#/traffic');
    await page.getByRole('link', { name: 'book_trip' }).first().click();
    await page.getByRole('dialog').getByText('MCP_AGGREGATOR_SHOW_PAYLOADS=true').waitFor();

    const other = await startAggregator({ env: { MCP_AGGREGATOR_SHOW_PAYLOADS: 'true' } });
    const visitor = await createVisitor(browser, other.url);
    try {
      const call = async (path: string, token: string, body: unknown) =>
        await fetch(`${other.url}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
      await call('/api/v1/aggregator/servers', other.token, travel('travel', 0));
      await other.logged((record) => record.server === 'travel' && record.status === 'CONNECTED');
      const { page: watching } = visitor;
      await signIn(watching, other.token);
      await watching.goto('/#/traffic');
      const trip = { destination: 'Porto', travellers: [], contact: { email: 'ada@example.com' } };
      await call('/api/v1/tools/call', other.token, { name: 'travel.book_trip', arguments: trip });
      await watching.getByRole('link', { name: 'book_trip' }).click();
      await watching.getByRole('region', { name: 'Arguments' }).getByText('"Porto"').waitFor();
      await watching.getByRole('region', { name: 'Result' }).getByText('Porto').first().waitFor();
      assert.deepEqual(await accessibilityProblems(watching), []);
      await watching.getByRole('button', { name: 'Close' }).click();
      const long = { ...trip, destination: 'x'.repeat(40_000) };
      await call('/api/v1/tools/call', other.token, { name: 'travel.book_trip', arguments: long });
      await watching.getByRole('link', { name: 'book_trip' }).nth(1).waitFor();
      await watching.getByRole('link', { name: 'book_trip' }).first().click();
      await watching.getByRole('region', { name: 'Arguments' }).getByText('Cut: the first 16 KB of 39 KB').waitFor();
      assert.deepEqual(await accessibilityProblems(watching), []);

      const created = await call('/api/v1/tokens', other.token, { name: 'caller', role: 'caller' });
      const { token } = (await created.json()) as { token: string };
      await watching.context().clearCookies();
      await watching.reload();
      await signIn(watching, token);
      await watching.goto('/#/traffic');
      await watching.getByRole('link', { name: 'book_trip' }).first().click();
      await watching.getByText('visible to admins only').waitFor();
      assert.deepEqual(visitor.complaints, []);
    } finally {
      await visitor.close();
      await other.stop();
    }
  });

  test('10,000 tools are listed and searched smoothly', async () => {
    await send('POST', '/api/v1/aggregator/servers', travel('large', 9_900));
    const page = await visitSignedIn('#/tools');
    await page.getByText(/^9,9\d\d tools/).waitFor({ timeout: 60_000 });
    const list = page.getByRole('region', { name: 'Tools' });
    assert.ok((await list.getByRole('row').count()) < 80, 'only what can be seen is drawn');
    await list.evaluate((element) => {
      element.scrollTop = element.scrollHeight / 2;
    });
    await list
      .getByText(/^[a-z]+_[a-z]+_\d+$/)
      .first()
      .waitFor();
    await page.getByLabel('What do you want to do?').pressSequentially('translate a recipe', { delay: 30 });
    await list
      .getByRole('link', { name: /translate_recipe/ })
      .first()
      .waitFor();
    await send('DELETE', '/api/v1/aggregator/servers/large');
  });

  test('a server whose process is killed is seen to fail and to recover, in two browsers', async () => {
    await send('POST', '/api/v1/aggregator/servers', {
      name: 'mortal',
      transport_type: 'STDIO',
      connection_config: { command: process.execPath, args: [featureServer] },
    });
    const [one, two] = [await visitSignedIn('#/servers/mortal'), await visitSignedIn('#/servers')];
    await one.locator('[data-status=CONNECTED]').waitFor();
    const row = two.getByRole('row', { name: /mortal/ });
    await row.locator('[data-status=CONNECTED]').waitFor();
    assert.equal(await one.getByText('Not reachable').count(), 0);
    const pids = children();
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    await one.getByText('Not reachable').first().waitFor();
    await one.locator('[data-status=CONNECTED]').waitFor();
    await two.locator('[data-status=ERROR]').waitFor({ state: 'detached' });
    await row.locator('[data-status=CONNECTED]').waitFor();

    await row.getByRole('checkbox').check();
    await two.getByRole('button', { name: 'Remove' }).click();
    await two.getByRole('dialog').getByRole('button', { name: 'Remove mortal' }).click();
    await row.waitFor({ state: 'detached' });
    await one.getByRole('heading', { name: 'Server not found: mortal' }).waitFor();
    visitors[0]?.complaints.splice(0); // that page asked for what is gone
  });

  function children(): number[] {
    const table = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' });
    const pids = table
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, parent, ...args]) => Number(parent) === aggregator.pid && args.join(' ').includes('stdio-legacy'))
      .map(([pid]) => Number(pid));
    assert.ok(pids.length > 0, 'the server has a process');
    return pids;
  }

  test('a server that is disconnected is seen to wait for its calls, and can be ended at once', async () => {
    const [one, two] = [await visitSignedIn('#/servers/everything'), await visitSignedIn('#/servers')];
    const row = two.getByRole('row', { name: /everything/ });
    await row.locator('[data-status=CONNECTED]').waitFor();
    const call = fetch(`${aggregator.url}/api/v1/tools/call`, {
      method: 'POST',
      headers: { authorization: `Bearer ${aggregator.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        name: 'everything.trigger-long-running-operation',
        arguments: { duration: 60, steps: 2 },
      }),
    });
    await one.getByText('1 running, 0 waiting').waitFor();
    await one.getByRole('button', { name: 'Disconnect' }).click();
    await one.getByText('1 call still running, 0 waiting').waitFor();
    await row.locator('[data-status=DISCONNECTING]').waitFor();
    await one.getByRole('button', { name: 'Cancel 1 running call now' }).click();
    await row.locator('[data-status=DISCONNECTED]').waitFor();
    await one.locator('[data-status=DISCONNECTED]').waitFor();
    assert.equal((await call).status, 503);
    await one.getByRole('button', { name: 'Connect' }).click();
    await one.locator('[data-status=CONNECTED]').waitFor();
  });

  test('a server is edited without its secrets being lost or shown', async () => {
    await send('POST', '/api/v1/aggregator/servers', {
      ...travel('edited', 0),
      connection_config: { ...travel('', 0).connection_config, env: { API_KEY: 'very-secret-value' } },
    });
    const page = await visitSignedIn('#/servers/edited/configuration');
    const form = page.getByRole('form', { name: 'Configuration' });
    await form.getByLabel('Description').fill('Books trips');
    await form.getByLabel('Arguments').fill(`${travelServer}\n1`);
    assert.ok(!(await page.content()).includes('very-secret-value'));
    await form.getByRole('button', { name: 'Save and reconnect' }).click();
    await form.getByText('enter the stored secrets again').waitFor();
    visitors[0]?.complaints.splice(0); // the browser notes the refusal
    await form.getByLabel('Arguments').fill(`${travelServer}\n0`);
    await form.getByLabel('Timeout of a call').fill('30');
    await form.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved.').waitFor();
    const saved = (await (await send('GET', '/api/v1/aggregator/servers/edited')).json()) as Record<string, unknown>;
    assert.deepEqual([saved.description, saved.options], ['Books trips', { request_timeout: 30 }]);

    await form.getByLabel('Arguments').fill(`${travelServer}\n1`);
    await form.getByLabel('Value of API_KEY').fill('another-secret');
    await form.getByRole('button', { name: 'Save and reconnect' }).click();
    await page.getByRole('tab', { name: 'Tools 2' }).waitFor();
    await send('DELETE', '/api/v1/aggregator/servers/edited');
    await page.getByRole('heading', { name: 'Server not found: edited' }).waitFor();
    visitors[0]?.complaints.splice(0); // that page asked for what is gone
  });

  test('a page that is open while the aggregator restarts goes on by itself', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'restart-'));
    let other = await startAggregator({ dataDir });
    const visitor = await createVisitor(browser, other.url);
    try {
      const { page } = visitor;
      await signIn(page, other.token);
      await page.getByText('Live', { exact: true }).waitFor();
      const { port } = new URL(other.url);
      await other.stop();
      await page.getByText('The aggregator does not respond').first().waitFor();
      other = await startAggregator({ dataDir, env: { MCP_AGGREGATOR_PORT: port } });
      await page.getByText('Live', { exact: true }).waitFor();
      await page.getByRole('heading', { name: 'Add a server' }).waitFor();
    } finally {
      await visitor.close();
      await other.stop();
      rmSync(dataDir, { recursive: true, force: true });
    }
  });

  test('a page whose code cannot be loaded says so, and is loaded when the aggregator responds again', async () => {
    const visitor = await createVisitor(browser, aggregator.url);
    const { page } = visitor;
    await signIn(page, aggregator.token);
    await page.route(/assets\/query-|livez/, (route) => route.abort());
    await page.goto('/#/query');
    await page.getByText('The page could not be loaded.').waitFor();
    await page.unrouteAll();
    await page.getByRole('heading', { name: 'Query' }).waitFor();
    await visitor.close();
  });

  for (const [name, hash, ready] of [
    ['add servers', '#/servers/+', 'Cursor'],
    ['tools', '#/tools', 'Tools'],
    ['one tool', '#/tools/everything.get-sum', 'Get Sum'],
    ['query', '#/query', 'Query'],
    ['connect', '#/connect', 'With one command'],
    ['a page that is not there', '#/nowhere', 'Page not found'],
  ] as const) {
    test(`axe-core finds nothing on ${name}, light and dark`, async () => {
      const page = await visitSignedIn(hash);
      await page.getByRole('heading', { name: ready }).first().waitFor();
      await assertAccessible(page, name);
    });
  }
});
