/** Servers whose messages are not quite JSON-RPC, and that work with the official SDKs all the same. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { open, openSession, type RawSession } from '../mcp/clients.ts';
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
  noise: ['starting', '', '{"a":1}', '[1]', '"text"', '@ping {}', '@ping now', '@message {}', result('{{id}}')].join(
    '\n',
  ),
  chatty: `{{400000 of x}}\n${result('{{id}}')}`,
  twice: `${result('{{id}}')}\n${result('{{id}}')}`,
};

/** Cannot become a text or a number. */
const odd = '{"toString":1,"valueOf":1}';
const notice = (method: string, params: string) => `{"jsonrpc":"2.0","method":"${method}","params":${params}}`;
const request = (id: string, method: string, params: string) =>
  `{"jsonrpc":"2.0","id":"${id}","method":"${method}","params":${params}}`;
const oddMessages = [
  notice('notifications/resources/updated', `{"uri":${odd}}`),
  notice('notifications/message', `{"level":${odd},"data":${odd}}`),
  notice('notifications/progress', `{"progressToken":${odd},"progress":${odd}}`),
  notice('notifications/cancelled', `{"requestId":${odd}}`),
  notice('notifications/tasks', `{"taskId":${odd}}`),
  notice('notifications/tasks/status', `{"taskId":${odd}}`),
  notice('notifications/subscriptions/acknowledged', `{"_meta":{"io.modelcontextprotocol/subscriptionId":${odd}}}`),
  notice('__proto__', '{}'),
  request('a', 'elicitation/create', `{"message":${odd}}`),
  request('b', 'sampling/createMessage', '{"_meta":[1]}'),
  request('c', 'roots/list', `{"_meta":${odd}}`),
  request('d', 'toString', '{}'),
  `{"jsonrpc":"2.0","id":999999,"error":{"code":1,"message":"x","data":${odd}}}`,
  `{"jsonrpc":"2.0","id":{{id}},"result":{"content":[{"type":"resource_link","uri":${odd}}],"_meta":[1],"isError":"yes"}}`,
];

suite('MCP-033: messages with members of odd types', () => {
  for (const sessions of ['shared', 'client', 'principal'] as const) {
    test(`do no harm to the connection or the others: sessions ${sessions}`, async (t) => {
      const app = await startApp({ MCP_AGGREGATOR_EXPOSURE: 'all' });
      t.after(() => app.close());
      const program = { odd: oddMessages.join('\n'), fine: result('{{id}}') };
      const http = await startWritten(program);
      t.after(() => http.close());
      await app.add('stdio', stdioWritten(program), { options: { sessions } });
      await app.add('http', { base_url: http.url }, { options: { sessions } });
      const session = await openSession(app, { capabilities: { elicitation: {} } });
      await session.request('logging/setLevel', { level: 'info' });
      await open(app, 'GET', undefined, { headers: session.headers, signal: t.signal });
      for (const server of ['stdio', 'http']) {
        const call = async (tool: string) => {
          const { body, events } = await session.request('tools/call', { name: `${server}__${tool}`, arguments: {} });
          return body ?? events.at(-1);
        };
        const oddAnswer = await call('odd');
        assert.ok(
          oddAnswer.result,
          JSON.stringify(oddAnswer) +
            app.log
              .filter((l) => !l.includes('"level":"debug"'))
              .slice(-8)
              .join(),
        );
        assert.ok((await call('fine')).result);
        assert.equal((await app.server(server)).status, 'CONNECTED');
      }
      assert.ok(!app.log.some((line) => line.includes('could not be handled')));
    });
  }
});

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

    for (const tool of ['null_error', 'text_id', 'spaced', 'noise', 'twice'] as const)
      test(`${server}: ${tool}`, async () => assert.deepEqual((await call(tool)).at(-1).result?.content, fine));

    for (const tool of ['null_result', 'text_id_error'] as const)
      test(`${server}: ${tool}`, async () =>
        assert.deepEqual((await call(tool)).at(-1).error, { code: -32_000, message: 'no' }));

    test(`${server}: much other output, between many answers`, async () => {
      for (let round = 0; round < 4; round += 1) assert.deepEqual((await call('chatty')).at(-1).result?.content, fine);
    });

    test(`${server}: a progress token that became a text`, async () => {
      const told = (await call('text_token')).filter(({ method }) => method === 'notifications/progress');
      assert.deepEqual(
        told.map(({ params }) => params),
        [1, 2].map((step) => ({ progressToken: 'steps', progress: step })),
      );
    });
  }
});
