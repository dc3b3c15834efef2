/** The dashboard: how much a first visit loads, how long until it shows something useful, and how it feels at scale, on loopback. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { createVisitor, launchBrowser, signIn } from '../test/browser/browser.ts';
import { createLargeInstallation, observeSmoothness } from '../test/browser/large-installation.ts';
import { type AggregatorProcess, startAggregator } from '../test/support/aggregator-process.ts';
import { percentile, printTable } from './table.ts';

const rounds = 10;
const secondsOfLoad = 30;
const build = spawnSync(process.execPath, [fileURLToPath(new URL('../scripts/build-web.js', import.meta.url))]);
if (build.status !== 0) throw new Error(build.stderr.toString());

const aggregator = await startAggregator();
const browser = await launchBrowser();
try {
  await weigh(aggregator);
  await time(browser, aggregator);
  await interact(browser, aggregator);
} finally {
  await browser.close();
  await aggregator.stop();
}

async function weigh({ url }: AggregatorProcess): Promise<void> {
  const html = await (await fetch(url)).text();
  const files = [
    '/',
    '/favicon.svg',
    ...[...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, file]) => file ?? ''),
  ];
  const styles = files.find((file) => file.endsWith('.css')) ?? '';
  const fonts = (await (await fetch(url + styles)).text()).matchAll(/url\((\/assets\/[^)]+woff2)\)/g);
  files.push(...[...fonts].map(([, file]) => file ?? ''));
  const rows = await Promise.all(
    files.map(async (file): Promise<(string | number)[]> => {
      const sizes = await Promise.all(['identity', 'gzip', 'br'].map((encoding) => sizeOf(url + file, encoding)));
      return [file.replace(/-[\w-]{8}\./, '.'), ...sizes];
    }),
  );
  const sum = (column: number) => rows.reduce((total, row) => total + Number(row[column]), 0);
  printTable(
    'First load, bytes (limit 200,000 compressed)',
    ['file', 'plain', 'gzip', 'brotli'],
    [...rows, ['together', sum(1), sum(2), sum(3)]],
  );
}

/** As it goes over the wire: fetch would unpack it. */
async function sizeOf(url: string, encoding: string): Promise<number> {
  const response = await fetch(url, { method: 'HEAD', headers: { 'accept-encoding': encoding } });
  return Number(response.headers.get('content-length'));
}

async function time(running: Browser, { url, token }: AggregatorProcess): Promise<void> {
  const [signInMs, firstMs, againMs]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < rounds; round += 1) {
    const { page, close } = await createVisitor(running, url);
    const until = async (text: string) => {
      const started = performance.now();
      await page.goto('/');
      await page.getByText(text).first().waitFor();
      return performance.now() - started;
    };
    signInMs.push(await until('Sign in'));
    const started = performance.now();
    await signIn(page, token);
    await page.getByRole('heading', { name: 'Add a server' }).waitFor();
    firstMs.push(performance.now() - started);
    againMs.push(await until('Add a server'));
    await close();
  }
  const row = (name: string, values: number[]) => [name, percentile(values, 50), percentile(values, 95)];
  printTable(
    `Time until something useful is shown, ms (${rounds} rounds)`,
    ['what', 'p50', 'p95'],
    [
      row('sign-in, nothing cached', signInMs),
      row('from there, typing the token, to the overview', firstMs),
      row('overview, signed in, files cached', againMs),
    ],
  );
}

/** Typing, sorting, opening and moving while calls arrive. */
async function interact(running: Browser, owner: AggregatorProcess): Promise<void> {
  const installation = await createLargeInstallation(owner);
  const { page, close } = await createVisitor(running, owner.url);
  const rows: (string | number)[][] = [];
  const measure = async (name: string, hash: string, act: () => Promise<void>) => {
    await page.goto(`/${hash}`);
    await installation.load(10, 2);
    const seen = await observeSmoothness(page);
    const load = installation.load(10, secondsOfLoad);
    await act();
    await load;
    const { slowestInputMs, longestTaskMs, longTasks } = await seen();
    rows.push([name, slowestInputMs, longestTaskMs, longTasks]);
  };
  try {
    await signIn(page, owner.token);
    await measure('overview', '#/', () =>
      page
        .getByLabel('Time range')
        .selectOption('1h')
        .then(() => undefined),
    );
    await measure('servers: filter, sort', '#/servers', async () => {
      await page.getByLabel('Filter servers').pressSequentially('team-1', { delay: 60 });
      await page.getByRole('button', { name: 'Tools' }).click();
    });
    await measure('tools: search', '#/tools', async () => {
      await page.keyboard.press('/');
      await page.keyboard.type('archive the contract', { delay: 60 });
    });
    await measure('traffic: open and close a call', '#/traffic', async () => {
      await page.getByRole('rowheader').first().getByRole('link').click();
      await page.getByRole('dialog').waitFor();
      await page.keyboard.press('Escape');
      await page.getByLabel('Filter by tool').pressSequentially('find', { delay: 60 });
    });
    await measure('palette', '#/', async () => {
      await page.keyboard.press('Control+k');
      await page.keyboard.type('rename contract', { delay: 60 });
    });
  } finally {
    await close();
    await installation.close();
  }
  printTable(
    `With ${installation.servers} servers, ${installation.tools} tools and 10 calls per second for ${secondsOfLoad} s, ms`,
    ['what', 'slowest input', 'longest task', 'tasks over 50 ms'],
    rows,
  );
}
