/** Chromium, driven as a person would; where there is none, the browser without a screen does the same steps. */
import { existsSync } from 'node:fs';
import { openBrowser } from './browser.ts';

const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium-headless-shell';

/** Opens the link, agrees, logs in as this person, agrees there, and returns what the last page says. */
export async function logInWithRealBrowser(link: string, login: string): Promise<string> {
  if (!existsSync(executablePath)) return (await openBrowser().logIn(link, { login, password: 'secret' })).text;
  const { chromium } = await import('playwright-core');
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage();
    await page.goto(link);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.locator('input[name=login]').fill(login);
    await page.locator('input[name=password]').fill('secret');
    await page.locator('button[type=submit]').click();
    await page.locator('button[type=submit]').click();
    await page.waitForURL(/\/oauth\/callback/);
    return await page.content();
  } finally {
    await browser.close();
  }
}
