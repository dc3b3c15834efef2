/** A real browser against the real aggregator; whatever it complains about or asks of another host fails the test. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const places = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

export const chromiumPath = places.find((place) => place !== undefined && place !== '' && existsSync(place));

/** Elsewhere a missing browser is said and skipped; in CI it is a failure. */
export const skipReason =
  chromiumPath === undefined && process.env.CI !== 'true'
    ? 'no Chromium was found; install one (Debian: chromium-headless-shell) or set CHROMIUM_PATH'
    : undefined;

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What is served was built when packages were installed; the sources may have changed since. */
function buildIfStale(): void {
  const built = join(root, 'dist-web', 'index.html');
  const builtAt = existsSync(built) ? statSync(built).mtimeMs : 0;
  const sources = readdirSync(join(root, 'web'), { recursive: true, encoding: 'utf8' });
  if (sources.every((name) => statSync(join(root, 'web', name)).mtimeMs < builtAt)) return;
  execFileSync(process.execPath, [join(root, 'scripts', 'build-web.js')], { stdio: 'ignore' });
}

export async function launchBrowser(): Promise<Browser> {
  buildIfStale();
  assert.ok(chromiumPath !== undefined, 'no Chromium was found; install chromium-headless-shell or set CHROMIUM_PATH');
  return await chromium.launch({
    executablePath: chromiumPath,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ],
  });
}

export interface Visitor {
  page: Page;
  /** What the page complained about or asked of somebody else, since the start. */
  complaints: string[];
  close(): Promise<void>;
}

/** A browser of its own: cookies, storage and all. */
export async function createVisitor(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({ baseURL: origin, viewport: { width: 1280, height: 900 }, ...options });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin });
  const page = await context.newPage();
  page.setDefaultTimeout(Number(process.env.T ?? 60_000));
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('request', (request) => {
    const { protocol, origin: asked } = new URL(request.url());
    if (asked !== origin && protocol !== 'data:' && protocol !== 'blob:') complaints.push(`asked ${request.url()}`);
  });
  return { page, complaints, close: () => context.close() };
}

export async function signIn(page: Page, token: string): Promise<void> {
  await page.goto('/');
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  // On a phone the sections are behind a button.
  await page.locator('main#main').waitFor();
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface AxeResult {
  violations: { id: string; impact: string; help: string; nodes: { html: string; failureSummary: string }[] }[];
}

/** What axe-core finds on the page as it is, as lines that say where; by these rules only, where some are named. */
export async function accessibilityProblems(page: Page, rules?: string[]): Promise<string[]> {
  // Evaluated, not added as a script: the page's own policy would refuse that.
  await page.evaluate(axeSource);
  // A panel that is still fading in has other colours.
  await page.evaluate(`Promise.allSettled(document.getAnimations()
    .filter(({ effect }) => effect.getTiming().iterations !== Infinity)
    .map(({ finished }) => finished))`);
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: { type: 'rule', values: rules } }) };
  const { violations } = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as AxeResult;
  return violations.map(
    ({ id, impact, help, nodes }) =>
      `${impact} ${id}: ${help}\n${nodes
        .slice(0, 3)
        .map(({ html, failureSummary }) => `    ${html}\n    ${failureSummary}`)
        .join('\n')}`,
  );
}

/** The rules of axe-core that look at colours, which are all that differs between light and dark. */
const colourRules = ['color-contrast', 'link-in-text-block'];

/** axe-core finds nothing in light, in dark and on a phone, where nothing is wider than the screen. */
export async function assertAccessible(page: Page, name: string): Promise<void> {
  const before = page.viewportSize() ?? { width: 1280, height: 900 };
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  assert.deepEqual(await accessibilityProblems(page), [], `${name} in light`);
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
  assert.deepEqual(await accessibilityProblems(page, colourRules), [], `${name} in dark`);
  await page.setViewportSize({ width: 390, height: 844 });
  assert.deepEqual(await accessibilityProblems(page), [], `${name} on a phone`);
  const overflow = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
  assert.ok(Number(overflow) <= 0, `${name} is ${overflow} pixels wider than a phone`);
  await page.setViewportSize(before);
}
