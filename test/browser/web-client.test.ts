/** An MCP client that is a web page: a real browser decides what it may send and read. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { type AggregatorProcess, startAggregator } from '../support/aggregator-process.ts';
import { listenLocally, type RunningServer } from '../support/servers/http-wire.ts';
import { launchBrowser, skipReason } from './browser.ts';

suite('a page of another origin', { skip: skipReason }, () => {
  let aggregator: AggregatorProcess;
  let browser: Browser;
  let site: RunningServer;

  before(async () => {
    browser = await launchBrowser();
    site = await listenLocally('/', 0, () => ({
      close: () => undefined,
      handle: (_request, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>A page'),
    }));
    aggregator = await startAggregator();
  });
  after(async () => {
    await browser?.close();
    await aggregator?.stop();
    await site?.close();
  });

  test('opens a session with a token, reads its id and its answers, and ends it', async () => {
    const page = await browser.newPage();
    await page.goto(site.url);
    const seen = await page.evaluate(
      async ({ url, token }) => {
        const own = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
        const accept = 'application/json, text/event-stream';
        const send = (method: string, headers: Record<string, string>, body?: unknown) =>
          fetch(`${url}/mcp`, {
            method,
            headers: { ...own, accept, ...headers },
            body: body === undefined ? null : JSON.stringify(body),
          });
        const clientInfo = { name: 'page', version: '1' };
        const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
        const opened = await send('POST', {}, { jsonrpc: '2.0', id: 1, method: 'initialize', params });
        const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
        const ping = await (await send('POST', session, { jsonrpc: '2.0', id: 2, method: 'ping' })).json();
        const ended = await send('DELETE', session);
        return { session: session['mcp-session-id'], ping, ended: ended.status };
      },
      { url: aggregator.url, token: aggregator.token },
    );
    assert.match(seen.session, /./);
    assert.deepEqual(seen.ping, { jsonrpc: '2.0', id: 2, result: {} });
    assert.equal(seen.ended, 200);
    await page.close();
  });
});
