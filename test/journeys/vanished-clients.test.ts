/** Clients that are killed: what servers hold for them ends soon. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startApp, type TestApp } from '../support/app.ts';
import { modernRequest } from '../support/modern-request.ts';
import { isAlive, untilGone } from '../support/processes.ts';
import { stdioFeatureServer } from '../support/servers/feature-server.ts';

const whoami = { name: 's__whoami', arguments: {} };

suite('a client that is killed', () => {
  let app: TestApp;
  before(async () => {
    app = await startApp({ MCP_AGGREGATOR_CLIENT_RETURN_TIMEOUT: '0.5' });
    await app.add('s', stdioFeatureServer('legacy', { label: 's' }), { options: { sessions: 'client' } });
  });
  after(() => app.close());

  /** Kills the process that prints the id of its server's process first; that one ends as well. */
  async function killAfterItsCall(child: ChildProcess, pid: number): Promise<void> {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    await untilGone(pid);
  }

  for (const revision of ['2025-11-25', '2026-07-28']) {
    test(`MCP-030: the process of an SDK client of ${revision} that listened ends with it`, async () => {
      const program = `
        import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
        const [url, token, revision] = process.argv.slice(1);
        const isModern = revision === '2026-07-28';
        const mode = isModern ? { pin: revision } : 'legacy';
        const client = new Client({ name: 'mortal', version: '1' }, { versionNegotiation: { mode } });
        const requestInit = { headers: { authorization: 'Bearer ' + token } };
        await client.connect(new StreamableHTTPClientTransport(new URL(url + '/mcp'), { requestInit }));
        if (isModern) await client.listen({ toolsListChanged: true });
        const { structuredContent } = await client.callTool(${JSON.stringify(whoami)});
        console.log(structuredContent.pid);
        setInterval(() => undefined, 1_000);`;
      const child = spawn(
        process.execPath,
        ['--input-type=module', '--eval', program, app.url, app.adminToken, revision],
        { stdio: ['ignore', 'pipe', 'inherit'], cwd: fileURLToPath(new URL('../..', import.meta.url)) },
      );
      const [line] = await once(createInterface({ input: child.stdout }), 'line');
      assert.equal(isAlive(Number(line)), true);
      await killAfterItsCall(child, Number(line));
    });
  }

  const initialize = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'desktop', version: '1' },
  };
  const legacy = [
    { jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params: whoami },
  ];
  const modern = [modernRequest('tools/call', whoami).message];

  for (const [era, messages] of Object.entries({ legacy, modern })) {
    test(`MCP-030: the process of a ${era} client of mcp-aggregator stdio ends with it`, async () => {
      const command = fileURLToPath(new URL('../../bin/mcp-aggregator.js', import.meta.url));
      const child = spawn(process.execPath, [command, 'stdio', '--url', app.url, '--token', app.adminToken], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      child.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
      let pid: number | undefined;
      for await (const line of createInterface({ input: child.stdout })) {
        pid = JSON.parse(line).result?.structuredContent?.pid;
        if (pid !== undefined) break;
      }
      assert.ok(pid !== undefined);
      await killAfterItsCall(child, pid);
    });
  }
});
