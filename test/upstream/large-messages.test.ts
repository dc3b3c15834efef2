import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { largeBytes } from '../../src/time-slice.ts';
import { readLarge } from '../../src/upstream/large-messages.ts';
import { postModern } from '../mcp/clients.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { stdioWritten } from '../support/servers/written-answers.ts';

const megabyte = 2 ** 20;
const result = (members: string) => `{"jsonrpc":"2.0","id":{{id}},"result":{${members}}}`;
const text = (length: number) => `"content":[{"type":"text","text":"{{${length} of x}}"}]`;

test('a large answer is put together and located by the worker thread, whatever its parts share', async () => {
  const whole = Buffer.from(`{"jsonrpc":"2.0","id":7,"result":{"content":["é${'x'.repeat(largeBytes)}"],"n":1.0}}`);
  const parts = [Buffer.from(whole.subarray(0, 10)), whole.subarray(10, 700), whole.subarray(700)];
  const { bytes, answer } = await readLarge(parts);
  assert.ok(bytes.equals(whole), 'what shares its memory is copied');
  assert.ok(answer !== undefined && 'result' in answer);
  assert.equal(answer.id, 7);
  const other = await readLarge([Buffer.from('{"jsonrpc":"2.0","method":"notifications/message"}')]);
  assert.equal(other.answer, undefined);
});

suite('large messages of a server on stdio', () => {
  let app: TestApp;
  const answers = {
    large: result(`${text(20 * megabyte)},"n":1.0`),
    spelled: result(`"content":null,"structuredContent":{"id":12345678901234567890,"n":1.0}`),
    failed: result(`${text(3 * megabyte)},"isError":true`),
    refused: `{"jsonrpc":"2.0","id":{{id}},"error":{"code":-32000,"message":"{{${3 * megabyte} of x}}"}}`,
    hugeError: `{"jsonrpc":"2.0","id":{{id}},"error":{"code":-32000,"message":"{{${9 * megabyte} of x}}"}}`,
    deep: `{"jsonrpc":"2.0","id":{{id}},"result":{"a":{{100000 of [}}{{100000 of ]}}}}`,
  };
  before(async () => {
    app = await startApp();
    await app.add('written', stdioWritten(answers));
  });
  after(() => app.close());

  const call = (tool: string) => app.api('POST', '/api/v1/tools/call', { name: `written.${tool}` });

  test('a result of 20 MB arrives whole, by REST and by MCP', async () => {
    const rest = await call('large');
    assert.equal(rest.status, 200);
    assert.equal(rest.body.content[0].text.length, 20 * megabyte);
    assert.equal(rest.body.isError, false);
    assert.equal(rest.body.metadata.routed_to, 'written');
    const { body } = await postModern(app, 'tools/call', { name: 'written.large', arguments: {} });
    assert.equal(body.result.content[0].text.length, 20 * megabyte);
  });

  test('numbers keep their spelling in the answer of REST, and content is always a list', async () => {
    const response = await fetch(`${app.url}/api/v1/tools/call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${app.adminToken}` },
      body: JSON.stringify({ name: 'written.spelled' }),
    });
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    const written = await response.text();
    assert.ok(written.includes('"structuredContent":{"id":12345678901234567890,"n":1.0}'), written);
    assert.deepEqual(JSON.parse(written).content, []);
  });

  test('a large error of a tool is described, an error of the protocol is cut', async () => {
    const { status, body } = await call('failed');
    assert.equal(status, 200);
    assert.equal(body.isError, true);
    assert.match(body.content[0].text, /^The tool reported an error of 31457\d\d bytes, which is too large to show$/);
    const refused = await call('refused');
    assert.equal(refused.status, 502);
    assert.match(refused.body.detail, /x… \(truncated, 3145728 characters\)/);
  });

  test('a message beyond 8 MB that is not a result ends the connection, and the next call opens another', async () => {
    const { status, body } = await call('hugeError');
    assert.equal(status, 502);
    assert.match(body.detail, /the server sent a message of more than 8388608 bytes that is not a result/);
    assert.equal((await call('spelled')).status, 200);
  });

  test('a result that is nested too deeply is an error', async () => {
    const { status, body } = await call('deep');
    assert.equal(status, 502);
    assert.match(body.detail, /The server's answer is nested more than 1000 levels deep/);
  });
});
