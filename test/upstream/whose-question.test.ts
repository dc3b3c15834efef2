/** On a session that several callers share, a question goes to the caller it belongs to, or is refused. */
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createToken, everyCapability, open, openSession, post, readEvents } from '../mcp/clients.ts';
import { type Body, startApp } from '../support/app.ts';
import { startHttpProgram } from '../support/servers/http-program.ts';
import { createProgram, structured, text } from '../support/servers/program.ts';
import { until } from '../support/until.ts';

const questions = {
  elicit: { method: 'elicitation/create', params: { message: 'Transfer 500?', requestedSchema: { type: 'object' } } },
  sample: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } },
} as const;
const inputSchema = { type: 'object' };

async function start(t: TestContext) {
  const outcomes: string[] = [];
  let held = Promise.withResolvers<void>();
  const program = createProgram({
    info: { name: 'bank', version: '1.0.0' },
    tools: [
      {
        definition: { name: 'hold', description: 'Ends when it is told to', inputSchema },
        call: async () => {
          outcomes.push('holding');
          await held.promise;
          return text('held');
        },
      },
      ...(['elicit', 'sample'] as const).map((name) => ({
        definition: { name, description: 'Asks its caller after a while', inputSchema },
        call: async (exchange: Body, { ms = 0 }: Body) => {
          outcomes.push('begun');
          await delay(ms);
          const asked = exchange.ask({ it: questions[name] });
          return asked.then(
            (answer: Body) => {
              outcomes.push('answered');
              return structured(answer);
            },
            (error: Error) => {
              outcomes.push('refused');
              return text(error.message);
            },
          );
        },
      })),
    ],
  });
  const app = await startApp();
  const server = await startHttpProgram(program, { transport: 'sse' });
  t.after(server.close);
  t.after(app.close);
  // Never a session of one's own: the shared one is what is at stake.
  await app.add('bank', { url: server.url }, { options: { sessions: 'shared' } });
  const token = await createToken(app, { name: 'ann', role: 'caller' });
  const ann = await openSession(app, { token, capabilities: everyCapability });
  const asked: string[] = [];
  const params = { name: 'bank__hold', arguments: {} };
  const request = { jsonrpc: '2.0', id: 'hold', method: 'tools/call', params };
  const answered = (async () => {
    const response = await open(app, 'POST', request, { token, headers: ann.headers });
    for await (const { data } of readEvents(response)) {
      const message: Body = data === '' ? {} : JSON.parse(data);
      if (message.method === undefined) continue;
      asked.push(message.method);
      const answer = { jsonrpc: '2.0', id: message.id, result: { action: 'accept', content: {} } };
      await post(app, answer, { token, headers: ann.headers });
    }
  })();
  await until(() => outcomes.includes('holding'), "ann's call is in progress");
  const release = async () => {
    held.resolve();
    await answered;
    held = Promise.withResolvers<void>();
  };
  return { app, asked, outcomes, release };
}

// At the same time, because most of their time is the wait until a question is refused.
suite('a question on a shared session', { concurrency: true }, () => {
  for (const name of ['elicit', 'sample'] as const) {
    test(`${name}: the call of a caller who cannot be asked is decided by nobody else`, async (t) => {
      const { app, asked, outcomes, release } = await start(t);
      const call = app.call(`bank.${name}`);
      await until(() => outcomes.includes('begun'), 'the other call has begun');
      const { body } = await call;
      assert.match(JSON.stringify(body), /cannot be attributed to one client/);
      await release();
      assert.deepEqual(asked, []);
      assert.ok(outcomes.includes('refused'));
    });

    test(`${name}: nor is one that its caller gave up`, async (t) => {
      const { app, asked, outcomes, release } = await start(t);
      const gone = new AbortController();
      const call = app.call(`bank.${name}`, { ms: 500 }, { signal: gone.signal });
      await until(() => outcomes.includes('begun'), 'the other call has begun');
      gone.abort();
      await assert.rejects(call);
      await until(() => outcomes.includes('refused') || outcomes.includes('answered'), 'the server has its answer');
      assert.ok(outcomes.includes('refused'));
      assert.deepEqual(asked, []);
      await release();
    });

    test(`${name}: nor by a client that can be asked while the caller's client cannot`, async (t) => {
      const { app, asked, outcomes, release } = await start(t);
      const plain = await openSession(app, { capabilities: {} });
      const { body, events } = await plain.request('tools/call', { name: `bank__${name}`, arguments: {} });
      assert.match(JSON.stringify(body ?? events), /cannot be attributed to one client|does not support/);
      assert.ok(outcomes.includes('refused'));
      assert.deepEqual(asked, []);
      await release();
    });
  }
});
