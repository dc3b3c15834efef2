/** A tool whose answers were made to be slow to read, beside everyone else who wants to be answered. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { startApp, type TestApp } from '../support/app.ts';
import { createOddDocumentation, startDocumentation } from '../support/servers/documentation.ts';
import type { RunningServer } from '../support/servers/http-wire.ts';
import { text } from '../support/servers/program.ts';

/** Each of them took between a second and for ever. */
const answers: Record<string, string> = {
  'a heading with many spaces': `# a${' '.repeat(2_500)}b`,
  'headings without text': '# a\n'.repeat(30_000),
  'blank lines': `a${'\n'.repeat(30_000)}b`,
  'many brackets': '['.repeat(1_000_000),
  'links without end': '[a](http://b'.repeat(80_000),
  'errors in errors': `${'{"a":'.repeat(60)}"b"${',"error":"x"}'.repeat(60)}`,
  'folders in folders': `${`{"name":"${'n'.repeat(400)}","children":[`.repeat(1_500)}${']}'.repeat(1_500)}`,
  'a label and many spaces': `Retries: ${' '.repeat(590)}\n`.repeat(1_500),
};
/** Of the processor, so that a busy machine changes little. Far below what they took. */
const maxBlockedMs = 2_000;

suite('reading hostile answers', { timeout: 120_000 }, () => {
  let app: TestApp;
  /** The plain one answers in time even where the machine is so busy that the other does not. */
  const servers: RunningServer[] = [];
  let answer = '';

  before(async () => {
    app = await startApp();
    for (const [name, search] of Object.entries({ hostile: () => text(answer), plain: () => text('Twice.') })) {
      const server = await startDocumentation(createOddDocumentation(name, { search }));
      servers.push(server);
      await app.add(name, { base_url: server.url });
    }
  });
  after(async () => {
    await app.close();
    for (const server of servers) await server.close();
  });

  for (const [name, hostile] of Object.entries(answers)) {
    test(`${name}: others are answered meanwhile`, async () => {
      answer = hostile;
      const longestTurn = watchTurns();
      const { status } = await app.api('POST', '/api/v1/query', { query: 'How often are failed requests retried?' });
      const blockedMs = longestTurn();
      assert.equal(status, 200);
      assert.ok(blockedMs < maxBlockedMs, `nothing was answered for ${Math.round(blockedMs)} ms`);
    });
  }
});

/** Ends with the most processor time that was used between two turns of the event loop. */
function watchTurns(): () => number {
  let last = process.cpuUsage();
  let maxMs = 0;
  const look = () => {
    const { user, system } = process.cpuUsage(last);
    maxMs = Math.max(maxMs, (user + system) / 1_000);
    last = process.cpuUsage();
  };
  const timer = setInterval(look, 10);
  return () => {
    clearInterval(timer);
    look();
    return maxMs;
  };
}
