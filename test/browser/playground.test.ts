/** Tools, resources and prompts as people try them: forms, results, running calls, saved calls, code to copy. */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser, Locator, Page } from 'playwright-core';
import { type AggregatorProcess, startAggregator } from '../support/aggregator-process.ts';
import { until } from '../support/until.ts';
import { assertAccessible, createVisitor, launchBrowser, signIn, skipReason, type Visitor } from './browser.ts';

const kitchen = fileURLToPath(new URL('./playground-server.ts', import.meta.url));
const run = promisify(execFile);

suite('the playground', { skip: skipReason }, () => {
  let aggregator: AggregatorProcess;
  let browser: Browser;
  let visitor: Visitor;
  let page: Page;

  before(async () => {
    [browser, aggregator] = await Promise.all([
      launchBrowser(),
      startAggregator({ env: { MCP_AGGREGATOR_SHOW_PAYLOADS: 'true' } }),
    ]);
    await send('POST', '/api/v1/aggregator/servers', {
      name: 'kitchen',
      transport_type: 'STDIO',
      connection_config: { command: process.execPath, args: [kitchen] },
    });
    await aggregator.logged((record) => record.server === 'kitchen' && record.status === 'CONNECTED');
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

  async function send(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`${aggregator.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${aggregator.token}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    assert.ok(response.ok, `${method} ${path}: ${response.status}`);
    return await response.json();
  }

  async function lastCall(name: string) {
    const { recent } = (await send('GET', '/api/v1/aggregator/calls')) as {
      recent: { call_id: string; tool: string; outcome: string }[];
    };
    return recent.find(({ tool }) => tool.endsWith(name));
  }

  const form = () => page.getByRole('region', { name: 'Call' });
  const result = () => page.getByRole('region', { name: 'Result' });
  const call = () => form().getByRole('button', { name: 'Call', exact: true }).click();

  async function openTool(name: string): Promise<void> {
    await page.goto(`/#/tools/kitchen.${name}`);
    await form().getByRole('button', { name: 'Call', exact: true }).waitFor();
  }

  /** The arguments that the server got. */
  async function ordered(): Promise<unknown> {
    await result().getByText('Raw result').click();
    const text = await result().locator('details pre').textContent();
    return (JSON.parse(text ?? '') as { structuredContent: { ordered: unknown } }).structuredContent.ordered;
  }

  test('options with titles are one dropdown, several of them checkboxes, and empty entries are not sent', async () => {
    await openTool('order');
    assert.equal(await form().getByRole('combobox').count(), 1);
    await form().getByLabel('Size').selectOption('Large');
    await form().getByRole('group', { name: 'Toppings' }).getByLabel('Fresh basil').check();
    await form().getByLabel('E-mail').fill('ada@example.com');
    await form().getByRole('button', { name: 'Add to extras' }).click();
    await form().getByRole('button', { name: 'Add to extras' }).click();
    await form().getByLabel('name').first().fill('x');
    await form().getByLabel('name').first().fill('');
    await form().getByLabel('name').last().fill('napkins');
    await call();
    const sent = { email: 'ada@example.com', size: 'l', toppings: ['basil'], extras: [{ name: 'napkins' }] };
    assert.deepEqual(await ordered(), sent);
  });

  test('problems go as soon as they are mended', async () => {
    await openTool('order');
    await form().getByLabel('E-mail').fill('');
    await call();
    await form().getByText('is required', { exact: true }).waitFor();
    await form().getByLabel('E-mail').fill('a');
    await form().getByText('must be an e-mail address', { exact: true }).waitFor();
    await form().getByLabel('E-mail').fill('a@b.example');
    await form().locator('.problem').waitFor({ state: 'detached' });
    assert.equal(await form().getByText('Nothing was sent').count(), 0);
  });

  test('an elicitation shows titles, checkboxes and problems in the same way', async () => {
    await openTool('ask');
    await call();
    const question = page.getByRole('form', { name: 'The server requests input' });
    await question.getByText('What would you like?').waitFor();
    assert.equal(await question.getByRole('combobox').count(), 1);
    await question.getByRole('button', { name: 'Answer' }).click();
    await question.getByText('must have at least 1 entry').waitFor();
    await question.getByLabel('Your name').fill('Ada');
    await question.getByLabel('Olives').check();
    await question.locator('.problem').waitFor({ state: 'detached' });
    await question.getByLabel('Size').selectOption('Small');
    await question.getByRole('button', { name: 'Answer' }).click();
    await result().getByText('"olives"').waitFor();
    await result().getByText('"Ada"').waitFor();
  });

  test('a request for a model is shown and answered by hand', async () => {
    await openTool('think');
    await call();
    const question = page.getByRole('form', { name: 'The server requests input' });
    await question.getByText('You are a cook.').waitFor();
    await question.getByText('Name a pizza').waitFor();
    await question.getByLabel('Answer of the model').fill('Margherita');
    await question.getByRole('button', { name: 'Answer' }).click();
    await result().getByText('"Margherita"').waitFor();
  });

  test('Markdown of descriptions and results is rendered, HTML in it is text, and nothing is loaded', async () => {
    await openTool('order');
    await page.locator('em').getByText('pizza').waitFor();
    await page.locator('li li').getByText('really').waitFor();
    await openTool('report');
    await call();
    await result().getByRole('columnheader', { name: 'Total' }).waitFor();
    await result().getByRole('row', { name: 'South 30' }).waitFor();
    await result().locator('ul ol').getByText('deep').waitFor();
    await result().getByText('<img src=x onerror=alert(1)>').waitFor();
  });

  test('the result is in view beside the form in a window 900 pixels high', async () => {
    await openTool('empty_fridge');
    await form().getByLabel('count').fill('3');
    await call();
    const box = await result().getByText('thrown').first().boundingBox();
    assert.ok(box !== null && box.y < 600, `y = ${box?.y}`);
    assert.equal(await page.evaluate('window.scrollY'), 0);
  });

  test('a call runs on when its page is left, is found from anywhere, and is cancelled', async () => {
    await openTool('bake');
    await call();
    await result().getByText('dough is rising').waitFor();
    await page.getByRole('link', { name: 'Traffic' }).click();
    await page.getByRole('link', { name: '1 running call' }).click();
    await result().getByText('dough is rising').waitFor();
    await assertAccessible(page, 'a running call');
    await result().getByRole('button', { name: 'Cancel' }).click();
    await result().getByText('The call was cancelled').waitFor();
    await page.getByRole('link', { name: '1 running call' }).waitFor({ state: 'detached' });
    await until(async () => (await lastCall('bake'))?.outcome === 'cancelled');
    await page.getByRole('button', { name: 'Use again' }).first().waitFor();
  });

  test('a call is saved, survives a reload, and is deleted', async () => {
    await openTool('empty_fridge');
    await form().getByLabel('count').fill('7');
    await form().getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Weekly');
    await page.getByRole('dialog').getByRole('button', { name: 'Save call' }).click();
    await page.reload();
    await page.getByRole('button', { name: 'Weekly', exact: true }).click();
    assert.equal(await form().getByLabel('count').inputValue(), '7');
    await page.getByRole('button', { name: 'Delete the saved call Weekly' }).click();
    await page.getByRole('list', { name: 'Saved calls' }).waitFor({ state: 'detached' });
  });

  test('a call of Traffic is repeated with its arguments, edited', async () => {
    await send('POST', '/api/v1/tools/call', { name: 'kitchen.empty_fridge', arguments: { count: 41 } });
    const made = await lastCall('empty_fridge');
    await page.goto(`/#/traffic?call=${made?.call_id}`);
    await page.getByRole('link', { name: 'Repeat with changes' }).click();
    await until(async () => (await form().getByLabel('count').inputValue()) === '41');
    await form().getByLabel('count').fill('42');
    await call();
    await result().getByText('42').first().waitFor();
  });

  test('what is copied as code runs: curl, the command line, TypeScript, Python', async (t) => {
    await openTool('empty_fridge');
    await form().getByRole('button', { name: 'Write JSON' }).click();
    const args = { count: 5, sure: true, note: `it's "new"\n$HOME` };
    await form().getByLabel('Arguments as JSON').fill(JSON.stringify(args));
    let before = '';
    const copy = async (name: string) => {
      await form().getByRole('button', { name, exact: true }).click();
      const read = async () => String(await page.evaluate('navigator.clipboard.readText()'));
      await until(async () => (await read()) !== before);
      before = await read();
      return before;
    };
    const [curl, command, typescript, python] = [
      await copy('curl'),
      await copy('Command line'),
      await copy('TypeScript'),
      await copy('Python'),
    ];
    assert.equal(
      command,
      `mcp-aggregator call kitchen.empty_fridge '${JSON.stringify(args).replaceAll("'", "'\\''")}'`,
    );
    // Within the repository, where the client's package is found.
    const folder = mkdtempSync(fileURLToPath(new URL('./copied-', import.meta.url)));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'call.ts'), typescript);
    writeFileSync(join(folder, 'call.py'), python);
    const env = { ...process.env, MCP_AGGREGATOR_TOKEN: aggregator.token };
    const outputs = await Promise.all([
      run('sh', ['-c', curl], { env }),
      run(process.execPath, [join(folder, 'call.ts')], { env }),
      ...(hasPython() ? [run('python3', [join(folder, 'call.py')], { env })] : []),
    ]);
    for (const { stdout } of outputs) assert.match(stdout, /"thrown": ?5/);
  });

  function hasPython(): boolean {
    try {
      execFileSync('python3', ['--version'], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  }

  test('what the server says about a tool is shown: destructive, read-only, its output', async () => {
    await page.goto('/#/tools/kitchen.empty_fridge?tab=output');
    await page.getByText('destructive', { exact: true }).waitFor();
    await page.getByRole('rowheader', { name: 'thrown' }).waitFor();
    await page.getByRole('tab', { name: 'Output' }).press('ArrowRight');
    await page.getByText('kitchen__empty_fridge').waitFor();
    await page.goto('/#/tools/kitchen.report');
    await page.getByText('read-only', { exact: true }).waitFor();
  });

  test('resources are read and prompts are filled in', async () => {
    await page.goto('/#/tools?show=resources');
    await page.getByRole('link', { name: 'The menu' }).click();
    await page.getByRole('button', { name: 'Read' }).click();
    await result().locator('em').getByText('Margherita').waitFor();
    await page.goto('/#/tools?show=resources');
    await page.getByRole('link', { name: 'recipe' }).click();
    await form().getByLabel('dish').fill('calzone');
    await page.getByRole('button', { name: 'Read' }).click();
    await result().getByText('Recipe of calzone').waitFor();
    await page.goto('/#/tools?show=prompts');
    await page.getByRole('link', { name: 'invite' }).click();
    await page.getByRole('button', { name: 'Get', exact: true }).click();
    await form().getByText('is required', { exact: true }).waitFor();
    await form().getByLabel('guest').fill('Ada');
    await page.getByRole('button', { name: 'Get', exact: true }).click();
    await result().getByText('Invite Ada for').waitFor();
  });

  test('a tool is found, filled in and called with the keyboard alone', async () => {
    await page.goto('/#/tools');
    await page.getByRole('link', { name: 'bake', exact: true }).waitFor();
    const tabTo = async (target: Locator) => {
      for (let step = 0; step < 40; step += 1) {
        await page.keyboard.press('Tab');
        if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return;
      }
      assert.fail('the focus never came to it');
    };
    await page.keyboard.press('/');
    await page.keyboard.type('throw everything away');
    const found = page.getByRole('link', { name: 'empty_fridge', exact: true });
    await page.getByText(/found in \d+ ms/).waitFor();
    await tabTo(found);
    await page.keyboard.press('Enter');
    await form().getByLabel('count').waitFor();
    await tabTo(form().getByLabel('count'));
    await page.keyboard.press('Control+A');
    await page.keyboard.type('8');
    await page.keyboard.press('Enter');
    await result().getByText('8', { exact: true }).first().waitFor();
  });

  for (const [name, hash] of [
    ['a tool with a result', '#/tools/kitchen.order'],
    ['the schema of a tool', '#/tools/kitchen.order?tab=schema'],
    ['the tools', '#/tools?map=on'],
    ['the tools found', '#/tools?q=throw+away'],
    ['the resources', '#/tools?show=resources'],
    ['a prompt', '#/prompts/kitchen/invite'],
  ] as const) {
    test(`axe-core finds nothing on ${name}, light, dark and on a phone`, async () => {
      await page.goto(`/${hash}`);
      await page
        .getByRole('table')
        .or(page.getByRole('region', { name: 'Call' }))
        .first()
        .waitFor();
      await assertAccessible(page, name);
    });
  }
});
