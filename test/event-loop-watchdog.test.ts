import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { createEventLoopWatchdog, type Work } from '../src/event-loop-watchdog.ts';
import { createLog } from '../src/log.ts';

function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test('a blocked event loop is reported with the work that took the time', { timeout: 20_000 }, async () => {
  const lines: Record<string, unknown>[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  let tell = (_report: { ms: number; work: Work | undefined }): void => undefined;
  const nextReport = () =>
    new Promise<{ ms: number; work: Work | undefined }>((resolve) => {
      tell = resolve;
    });
  const watchdog = createEventLoopWatchdog({
    log: createLog('warn', { format: 'json', destination }),
    onBlocked: (ms, work) => tell({ ms, work }),
  });
  watchdog.start();
  const keepAlive = setInterval(() => undefined, 1_000);
  try {
    const work = { server: 'docs', tool: 'search' };
    let report = nextReport();
    const slice = watchdog.begin(work);
    block(500);
    await slice.giveWay();
    const first = await report;
    assert.deepEqual(first.work, work);
    assert.ok(first.ms >= 200);
    assert.equal(lines.at(-1)?.server, 'docs');
    assert.equal(lines.at(-1)?.tool, 'search');

    report = nextReport();
    block(500);
    assert.equal((await report).work, undefined);
    assert.equal(lines.at(-1)?.server, undefined);

    // The same server again within half a minute: counted, not logged.
    const logged = lines.length;
    report = nextReport();
    const last = watchdog.begin(work);
    block(500);
    last.end();
    assert.deepEqual((await report).work, work);
    assert.equal(lines.length, logged);
  } finally {
    clearInterval(keepAlive);
    watchdog.close();
  }
});
