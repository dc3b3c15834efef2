/** A person signs in to the dashboard at another site and comes back: a real browser decides which cookies it sends. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { type IdentityProvider, startIdentityProvider } from '../oauth/identity-provider.ts';
import { type AggregatorProcess, startAggregator } from '../support/aggregator-process.ts';
import { accessibilityProblems, createVisitor, launchBrowser, signIn, skipReason } from './browser.ts';

const fonts = 'https://fonts.googleapis.com';

suite('the sign-in page with an identity provider', { skip: skipReason }, () => {
  let provider: IdentityProvider;
  let aggregator: AggregatorProcess;
  let browser: Browser;

  before(async () => {
    browser = await launchBrowser();
    // Another name is another site, so SameSite means what it would mean between companies.
    provider = await startIdentityProvider({
      hostname: 'localhost',
      redirectUri: 'http://127.0.0.1/oauth/sign-in/callback',
      people: { ada: { groups: ['mcp-admins'] }, eve: { groups: ['guests'] } },
    });
    aggregator = await startAggregator({
      env: {
        MCP_AGGREGATOR_OIDC_ISSUER: provider.issuer,
        MCP_AGGREGATOR_OIDC_CLIENT_ID: 'pages',
        MCP_AGGREGATOR_OIDC_CLIENT_SECRET: 'secret',
        MCP_AGGREGATOR_OIDC_ROLE_CLAIM: 'groups',
        MCP_AGGREGATOR_OIDC_ROLES: 'admin=mcp-admins,caller=staff',
      },
    });
  });
  after(async () => {
    await browser?.close();
    await aggregator?.stop();
    await provider?.close();
  });

  const nameOfButton = () => `Sign in with ${new URL(provider.issuer).host}`;

  async function visit(check: (page: Page) => Promise<void>): Promise<void> {
    const visitor = await createVisitor(browser, aggregator.url);
    // The provider's pages are not ours; they would fetch a font from elsewhere.
    await visitor.page.route(`${fonts}/**`, (route) => route.fulfill({ contentType: 'text/css', body: '' }));
    await check(visitor.page);
    await visitor.close();
    const theirs = [provider.issuer, fonts].map((origin) => `asked ${origin}/`);
    const complaints = visitor.complaints.filter((one) => !theirs.some((start) => one.startsWith(start)));
    assert.deepEqual(complaints, []);
  }

  async function logInAtProvider(page: Page, login: string): Promise<void> {
    await page.getByRole('link', { name: nameOfButton() }).click();
    await page.locator('input[name=login]').fill(login);
    await page.locator('input[name=password]').fill('secret');
    await page.locator('button[type=submit]').click();
    await page.locator('button[type=submit]').click();
  }

  test('they come back to the place where they were, signed in, with a strict cookie and nothing in the address', async () => {
    await visit(async (page) => {
      await page.goto('/#/access');
      await page.getByRole('link', { name: nameOfButton() }).waitFor();
      assert.deepEqual(await accessibilityProblems(page), []);
      await logInAtProvider(page, 'ada');
      await page.getByRole('heading', { name: 'My tokens' }).waitFor();
      assert.equal(page.url(), `${aggregator.url}/#/access`);

      const cookies = (await page.context().cookies(aggregator.url)).map(({ name, httpOnly, sameSite }) => ({
        name: name.replace(/\d+$/, ''),
        httpOnly,
        sameSite,
      }));
      assert.deepEqual(cookies, [{ name: 'mcp_aggregator_', httpOnly: true, sameSite: 'Strict' }]);

      await page.reload();
      await page.getByRole('heading', { name: 'My tokens' }).waitFor();
      const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
      assert.ok(!kept.includes('mcpp_') && !kept.includes('code'), kept);

      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('link', { name: nameOfButton() }).waitFor();
      await page.goBack();
      await page.getByLabel('Token').waitFor();
    });
  });

  test('a token works beside it', async () => {
    await visit(async (page) => signIn(page, aggregator.token));
  });

  test('somebody without a role is told so, and can go back', async () => {
    const visitor = await createVisitor(browser, aggregator.url);
    const { page } = visitor;
    await page.goto('/');
    await logInAtProvider(page, 'eve');
    await page.getByText('assigns you no role in this aggregator').waitFor();
    await page.getByRole('link', { name: 'Back to the dashboard' }).click();
    await page.getByLabel('Token').waitFor();
    await visitor.close();
  });
});
