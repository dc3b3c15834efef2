/** Pictures of every page, light and dark, desktop and phone, from the real product with real servers: docs/images/. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { createVisitor, launchBrowser, signIn } from '../test/browser/browser.ts';
import { type AggregatorProcess, startAggregator } from '../test/support/aggregator-process.ts';

const folder = fileURLToPath(new URL(process.argv[2] ?? '../docs/images/', import.meta.url));
/** Longer pages only repeat themselves. */
const tallest = 1_400;

const home = join(tmpdir(), 'ada');
rmSync(home, { recursive: true, force: true });
mkdirSync(home);
const programs = join(home, 'bin');
mkdirSync(programs);
/** Servers under the names that people know, so that pictures show no path of this machine. */
for (const name of ['server-filesystem', 'server-memory', 'server-everything']) {
  const script = fileURLToPath(new URL(`../node_modules/@modelcontextprotocol/${name}/dist/index.js`, import.meta.url));
  writeFileSync(join(programs, `mcp-${name}`), `#!/bin/sh\nexec '${process.execPath}' '${script}' "$@"\n`, {
    mode: 0o755,
  });
}
const documentation = fileURLToPath(new URL('../test/support/servers/documentation.ts', import.meta.url));
const runDocumentation = `exec '${process.execPath}' --disable-warning=ExperimentalWarning '${documentation}' "$@"`;
writeFileSync(join(programs, 'mcp-server-documentation'), `#!/bin/sh\n${runDocumentation}\n`, { mode: 0o755 });
const notes = join(home, 'notes');
mkdirSync(notes);
writeFileSync(join(notes, 'release.md'), '# Release 2.4\n\n- faster search\n- one login for all servers\n');
mkdirSync(join(home, '.cursor'));
writeFileSync(
  join(home, '.cursor', 'mcp.json'),
  JSON.stringify({
    mcpServers: {
      filesystem: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', notes] },
      linear: { url: 'https://mcp.linear.app/mcp' },
      postgres: { command: 'uvx', args: ['postgres-mcp'], env: { DATABASE_URI: '${DATABASE_URI}' } },
    },
  }),
);

interface Shot {
  name: string;
  hash: string;
  ready(page: Page): Promise<unknown>;
  /** What covers the window does not cover a longer page. */
  onlyWindow?: boolean;
}

const heading = (name: string | RegExp) => (page: Page) => page.getByRole('heading', { name }).first().waitFor();

const pages: Shot[] = [
  { name: 'servers', hash: '#/servers', ready: (page) => page.getByText('Not reachable').first().waitFor() },
  { name: 'server', hash: '#/servers/everything', ready: heading(/tools/) },
  { name: 'server-error', hash: '#/servers/tickets', ready: heading('History') },
  { name: 'add-found', hash: '#/servers/+', ready: heading('Cursor') },
  {
    name: 'tools',
    hash: '#/tools',
    async ready(page) {
      await page.getByText('echo').first().waitFor();
      await page.getByLabel('What do you want to do?').fill('read a file');
      await page.locator('.score').first().waitFor();
    },
  },
  {
    name: 'skills',
    hash: '#/tools',
    async ready(page) {
      await page.reload();
      await page.getByText('echo').first().waitFor();
      await page.getByRole('button', { name: 'Category map' }).click();
    },
  },
  {
    name: 'tool',
    hash: '#/tools/everything.get-sum',
    async ready(page) {
      await page.getByLabel(/^a/).first().fill('17');
      await page.getByLabel(/^b/).first().fill('25');
      await page.getByRole('button', { name: 'Call', exact: true }).click();
      await page.getByRole('heading', { name: /Answer/ }).waitFor();
    },
  },
  {
    name: 'query',
    hash: '#/query',
    async ready(page) {
      await page.getByLabel('Question').fill('How are failed requests retried?');
      await page.getByRole('button', { name: 'Ask' }).click();
      await page.getByRole('heading', { name: /result/ }).waitFor();
    },
  },
  { name: 'traffic', hash: '#/traffic', ready: (page) => page.getByText('list_directory').first().waitFor() },
  {
    name: 'call',
    hash: '#/traffic',
    async ready(page) {
      await page.reload();
      await page.getByRole('button', { name: 'get-sum' }).first().click();
      await page.getByRole('region', { name: 'Result' }).waitFor();
    },
    onlyWindow: true,
  },
  { name: 'health', hash: '#/health', ready: heading('Recent hours') },
  {
    name: 'access',
    hash: '#/access',
    async ready(page) {
      for (const text of ['Cursor of Ada', 'A client sees', 'tool.called']) {
        await page.getByText(text).first().waitFor();
      }
    },
  },
  { name: 'connect', hash: '#/connect', ready: heading('With one command') },
];

const browser = await launchBrowser();
const aggregator = await startAggregator({
  dataDir: join(home, '.mcp-aggregator'),
  env: {
    HOME: home,
    PATH: `${programs}:${process.env.PATH}`,
    MCP_AGGREGATOR_PORT: '8081',
    MCP_AGGREGATOR_SHOW_PAYLOADS: 'true',
  },
});
try {
  await prepare(aggregator);
  mkdirSync(folder, { recursive: true });
  for (const [scheme, device] of [
    ['light', 'desktop'],
    ['dark', 'desktop'],
    ['light', 'phone'],
    ['dark', 'phone'],
  ] as const) {
    await photograph(browser, aggregator, scheme, device);
  }
} finally {
  await browser.close();
  await aggregator.stop();
  rmSync(home, { recursive: true, force: true });
}

async function send(method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(`${aggregator.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${aggregator.token}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  return text === '' ? undefined : JSON.parse(text);
}

async function prepare(running: AggregatorProcess): Promise<void> {
  const stdio = (name: string, description: string, command: string, ...args: string[]) =>
    send('POST', '/api/v1/aggregator/servers', {
      name,
      description,
      transport_type: 'STDIO',
      connection_config: { command, args },
    });
  await stdio('filesystem', 'Files of the team', 'mcp-server-filesystem', notes);
  await stdio('memory', 'What assistants should remember', 'mcp-server-memory');
  await stdio('everything', 'One of everything that MCP has', 'mcp-server-everything');
  await stdio('handbook', 'How we run our services', 'mcp-server-documentation', 'handbook');
  await stdio('manual', 'For those who use them', 'mcp-server-documentation', 'manual');
  await send('POST', '/api/v1/aggregator/servers', {
    name: 'tickets',
    description: 'The ticket system',
    transport_type: 'HTTP',
    connection_config: {
      base_url: 'http://127.0.0.1:9/mcp',
      headers: { authorization: 'Bearer secret-of-the-tickets' },
    },
  });
  for (const server of ['filesystem', 'memory', 'everything', 'handbook', 'manual']) {
    await running.logged((record) => record.server === server && record.status === 'CONNECTED');
  }
  await running.logged((record) => record.server === 'tickets' && record.status === 'ERROR');
  await send('PUT', '/api/v1/profiles/writing', {
    description: 'For people who write',
    servers: ['filesystem', 'memory'],
    exposure: 'all',
  });
  await send('POST', '/api/v1/tokens', { name: 'Cursor of Ada', role: 'caller', profile: 'writing' });
  await send('POST', '/api/v1/tokens', { name: 'Status board', role: 'viewer' });
  const call = (name: string, args: unknown) => send('POST', '/api/v1/tools/call', { name, arguments: args });
  await call('memory.create_entities', {
    entities: [
      { name: 'Release 2.4', entityType: 'release', observations: ['Faster search', 'One login for all servers'] },
      { name: 'Release 2.3', entityType: 'release', observations: ['Profiles for teams'] },
      { name: 'Ada', entityType: 'person', observations: ['Leads the release of version 2.4'] },
    ],
  });
  for (let round = 0; round < 12; round += 1) {
    await call('everything.echo', { message: `round ${round}` });
    await call('filesystem.list_directory', { path: notes });
    if (round % 3 === 0) await call('memory.read_graph', {});
    if (round % 4 === 0) await call('filesystem.read_text_file', { path: '/etc/hostname' });
  }
}

async function photograph(
  running: Browser,
  { url, token }: AggregatorProcess,
  colorScheme: 'light' | 'dark',
  device: 'desktop' | 'phone',
): Promise<void> {
  const viewport = device === 'phone' ? { width: 390, height: 844 } : { width: 1280, height: 860 };
  const { page, close } = await createVisitor(running, url, { colorScheme, viewport });
  const shoot = async (name: string, fullPage = true) => {
    await page.waitForLoadState('load');
    const whole = fullPage ? Number(await page.evaluate('document.documentElement.scrollHeight')) : viewport.height;
    const clip = { x: 0, y: 0, width: viewport.width, height: Math.min(tallest, whole) };
    await page.screenshot({ path: join(folder, `${name}-${device}-${colorScheme}.png`), fullPage, clip });
  };
  await page.goto('/');
  await page.getByLabel('Token').waitFor();
  await shoot('sign-in', false);
  await signIn(page, token);
  for (const { name, hash, ready, onlyWindow = false } of pages) {
    await page.goto(`/${hash}`);
    await ready(page);
    await shoot(name, !onlyWindow);
  }
  await close();
}
