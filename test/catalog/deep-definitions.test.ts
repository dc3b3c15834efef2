/** A definition that is nested deeper than any stack is an error on its server's row that says so. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { parseJson } from '../../src/exact-json.ts';
import { startApp } from '../support/app.ts';
import { untilSeen } from '../support/until.ts';

/** With a number that JavaScript cannot hold, everything is read by the reviver, which needs stack. */
const longNumber = '"n":1234567890123456789,';
const deepTool = (depth: number, more: string) =>
  `{"tools":[{"name":"a",${more}"inputSchema":{"type":"object","properties":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}}]}`;
const identity = JSON.stringify({
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'deep', version: '1' },
});

const stdioScript = `
const [depth, more] = process.argv.slice(2);
const deepTool = ${deepTool.toString()};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const answer = (result) => process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":' + result + '}\\n');
  if (method === 'initialize') answer(${JSON.stringify(identity)});
  else if (method === 'tools/list') answer(deepTool(Number(depth), more));
  else if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }) + '\\n');
});`;

/** The depth and what comes before it are in the path. */
async function startHttp() {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { id, method } = request.method === 'POST' ? JSON.parse(body) : {};
    if (request.method !== 'POST' || id === undefined)
      return response.writeHead(request.method === 'POST' ? 202 : 405).end();
    const [, depth, more] = (request.url ?? '').split('/');
    const result =
      method === 'initialize'
        ? identity
        : method === 'tools/list'
          ? deepTool(Number(depth), more === 'n' ? longNumber : '')
          : '{}';
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

suite('a definition that is nested too deeply', () => {
  test('says so on the row of its server, however deep it is and whatever it is sent over', async (t) => {
    const app = await startApp();
    const http = await startHttp();
    const directory = mkdtempSync(join(tmpdir(), 'deep-'));
    const script = join(directory, 'server.cjs');
    writeFileSync(script, stdioScript);
    t.after(async () => {
      await app.close();
      http.close();
      rmSync(directory, { recursive: true });
    });
    const names: string[] = [];
    for (const depth of [300, 3_000, 50_000]) {
      for (const more of ['', longNumber]) {
        const name = `${depth}${more === '' ? '' : 'n'}`;
        await app.register(`stdio-${name}`, {
          command: process.execPath,
          args: [script, String(depth), more],
        });
        await app.register(`http-${name}`, { base_url: `${http.url}/${depth}/${more === '' ? 'plain' : 'n'}` });
        names.push(`stdio-${name}`, `http-${name}`);
      }
    }
    const expected = [
      'discovery failed: a definition in tools/list is nested more than 200 levels deep',
      "discovery failed: The server's answer is nested more than 1000 levels deep",
    ];
    for (const name of names) {
      const look = () => app.server(name);
      const server = await untilSeen(look, ({ error_message: error }) => error !== null, `${name} has failed`);
      assert.equal(server.error_message, expected[name.includes('-300') && !name.includes('-3000') ? 0 : 1], name);
    }
    assert.ok(!app.log.join('').includes('call stack'));
  });

  test('is parsed with a long number in it, too', () => {
    const text = `${'['.repeat(100_000)}1234567890123456789${']'.repeat(100_000)}`;
    assert.ok(Array.isArray(parseJson(text)));
    assert.throws(() => parseJson('[1234567890123456789'), SyntaxError);
  });
});
