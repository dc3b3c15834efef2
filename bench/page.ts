/** The dashboard: how much a first visit loads, and how long until it shows something useful, on loopback. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { createVisitor, launchBrowser, signIn } from '../test/browser/browser.ts';
import { type AggregatorProcess, startAggregator } from '../test/support/aggregator-process.ts';
import { percentile, printTable } from './table.ts';

const rounds = 10;
const build = spawnSync(process.execPath, [fileURLToPath(new URL('../scripts/build-web.js', import.meta.url))]);
if (build.status !== 0) throw new Error(build.stderr.toString());

const aggregator = await startAggregator();
const browser = await launchBrowser();
try {
  await weigh(aggregator);
  await time(browser, aggregator);
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
    await page.getByRole('heading', { name: 'No server yet' }).waitFor();
    firstMs.push(performance.now() - started);
    againMs.push(await until('No server yet'));
    await close();
  }
  const row = (name: string, values: number[]) => [name, percentile(values, 50), percentile(values, 95)];
  printTable(
    `Time until something useful is shown, ms (${rounds} rounds)`,
    ['what', 'p50', 'p95'],
    [
      row('sign-in, nothing cached', signInMs),
      row('from there, typing the token, to the servers', firstMs),
      row('servers, signed in, files cached', againMs),
    ],
  );
}
