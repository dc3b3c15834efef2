/** Servers whose messages are not quite JSON-RPC, and that work with the official SDKs all the same. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { openSession, type RawSession } from '../mcp/clients.ts';
import { type Body, startApp, type TestApp } from '../support/app.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';
import { startWritten, stdioWritten } from '../support/servers/written-answers.ts';

const content = '"content":[{"type":"text","text":"fine"}]';
const result = (id: string) => `{"jsonrpc":"2.0","id":${id},"result":{${content}}}`;
const progress = (token: string, step: number) =>
  `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":${step}}}`;

const answers = {
  null_error: `{"jsonrpc":"2.0","id":{{id}},"result":{${content}},"error":null}`,
  null_result: '{"jsonrpc":"2.0","id":{{id}},"result":null,"error":{"code":-32000,"message":"no"}}',
  text_id: result('"{{id}}"'),
  text_id_error: '{"jsonrpc":"2.0","id":"{{id}}","error":{"code":-32000,"message":"no"}}',
  text_token: [progress('"{{token}}"', 1), progress('"{{token}}"', 2), result('{{id}}')].join('\n'),
  spaced: `  ${result('{{id}}')} `,
  twice: `${result('{{id}}')}\n${result('{{id}}')}`,
};

suite('MCP-033: answers', () => {
  let app: TestApp;
  let http: RunningServer;
  let session: RawSession;

  before(async () => {
    app = await startApp({ MCP_AGGREGATOR_EXPOSURE: 'all' });
    http = await startWritten(answers);
    await app.add('stdio', stdioWritten(answers));
    await app.add('http', { base_url: http.url });
    session = await openSession(app);
  });
  after(async () => {
    await app.close();
    await http.close();
  });

  for (const server of ['stdio', 'http']) {
    const call = async (tool: string): Promise<Body[]> => {
      const params = { name: `${server}__${tool}`, arguments: {}, _meta: { progressToken: 'steps' } };
      const { body, events } = await session.request('tools/call', params);
      return body === undefined ? events : [body];
    };
    const fine = [{ type: 'text', text: 'fine' }];

    for (const tool of ['null_error', 'text_id', 'spaced', 'twice'] as const)
      test(`${server}: ${tool}`, async () => assert.deepEqual((await call(tool)).at(-1).result?.content, fine));

    for (const tool of ['null_result', 'text_id_error'] as const)
      test(`${server}: ${tool}`, async () =>
        assert.deepEqual((await call(tool)).at(-1).error, { code: -32_000, message: 'no' }));

    test(`${server}: a progress token that became a text`, async () => {
      const told = (await call('text_token')).filter(({ method }) => method === 'notifications/progress');
      assert.deepEqual(
        told.map(({ params }) => params),
        [1, 2].map((step) => ({ progressToken: 'steps', progress: step })),
      );
    });
  }
});
