/** The dashboard of a large and busy installation. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { type AggregatorProcess, startAggregator } from '../support/aggregator-process.ts';
import { createVisitor, launchBrowser, signIn, skipReason } from './browser.ts';
import { createLargeInstallation, type LargeInstallation, observeSmoothness } from './large-installation.ts';

/** Longer tasks are felt. On a busy machine one may be another program's fault, so the best of some rounds counts. */
const maxTaskMs = 100;
const rounds = 4;

suite('22 servers, 2,011 tools, 10 calls per second', { skip: skipReason }, () => {
  let aggregator: AggregatorProcess;
  let browser: Browser;
  let installation: LargeInstallation;
  let sent = 0;

  before(async () => {
    browser = await launchBrowser();
    aggregator = await startAggregator();
    installation = await createLargeInstallation(aggregator);
  });
  after(async () => {
    await browser?.close();
    await aggregator?.stop();
    await installation?.close();
  });

  for (const [name, hash] of [
    ['the traffic', '#/traffic'],
    ['the overview', '#/'],
    ['the servers', '#/servers?sort=-calls'],
  ] as const) {
    test(`${name} stays smooth, and rows stay under the pointer`, async () => {
      const { page, complaints, close } = await createVisitor(browser, aggregator.url);
      await signIn(page, aggregator.token);
      await page.goto(`/${hash}`);
      sent += await installation.load(10, 1);
      const row = page.getByRole('row').nth(1);
      if (name !== 'the overview') await row.hover();
      const before = name === 'the overview' ? '' : await row.getByRole('rowheader').textContent();
      let longest = Number.POSITIVE_INFINITY;
      for (let round = 0; round < rounds && longest > maxTaskMs; round += 1) {
        const seen = await observeSmoothness(page);
        sent += await installation.load(10, 3);
        longest = (await seen()).longestTaskMs;
      }
      assert.ok(longest <= maxTaskMs, `a task took ${longest} ms`);
      if (name !== 'the overview') assert.equal(await row.getByRole('rowheader').textContent(), before);
      await close();
      assert.deepEqual(complaints, []);
    });
  }

  test('the overview shows as many calls as were sent, within 2 %', async () => {
    const { page, close } = await createVisitor(browser, aggregator.url);
    await signIn(page, aggregator.token);
    const shown = page
      .locator('dl > div')
      .filter({ has: page.getByText('Calls', { exact: true }) })
      .locator('strong');
    await shown.getByText(sent.toLocaleString('en-US')).waitFor({ timeout: 10_000 });
    const number = Number((await shown.textContent())?.replaceAll(',', ''));
    assert.ok(Math.abs(number - sent) / sent <= 0.02, `${number} shown, ${sent} sent`);
    await close();
  });

  test('when the aggregator is gone, no server looks connected', async () => {
    const { page, close } = await createVisitor(browser, aggregator.url);
    await signIn(page, aggregator.token);
    await page.goto('/#/servers');
    await page.locator('[data-status=CONNECTED]').first().waitFor();
    await aggregator.stop();
    await page.getByText('The aggregator does not respond').waitFor();
    await page.getByText('Unknown (was: Connected)').first().waitFor();
    assert.equal(await page.locator('.badge.good').count(), 0);
    await close();
  });
});
