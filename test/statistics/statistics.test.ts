import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type Changes, createChanges } from '../../src/changes.ts';
import { toTotals } from '../../src/statistics/series.ts';
import { createStatistics, type Dimension, fromClientKey, type Statistics } from '../../src/statistics/statistics.ts';
import { toTimeRange } from '../../src/statistics/time-range.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { findStatistics } from '../../src/store/statistics.ts';
import { createTestDatabase, type TestDatabase } from '../support/databases.ts';

/** Stored when it is closed; the clock goes only where a test moves it. */
interface Replica {
  statistics: Statistics;
  changes: Changes;
  call(more?: { server?: string; tool?: string; client?: string | null; outcome?: string; ms?: number }): void;
}

suite('statistics', () => {
  let storage: TestDatabase;
  let db: Database;
  let clock = 0;
  const start = (replicaId: string): Replica => {
    const changes = createChanges();
    const onError = (error: unknown) => assert.fail(String(error));
    const statistics = createStatistics({ db, changes, replicaId, onError, now: () => clock, storeEveryMs: 3_600_000 });
    return {
      statistics,
      changes,
      call({ server = 'one', tool = 'echo', client = null, outcome = 'ok', ms = 10 } = {}) {
        changes.publish('call.finished', {
          call_id: 'c',
          server_id: server,
          server,
          tool: `${server}.${tool}`,
          principal: 'ada',
          client,
          outcome,
          duration_ms: ms,
          error_code: null,
          measured: { admissionMs: 0, queueMs: 0, routingMs: 0 },
        });
      },
    };
  };
  const rangeOf = (seconds: number) =>
    toTimeRange({ from: clock / 1_000 - seconds, to: clock / 1_000 + 1 }, clock / 1_000);
  const totals = async ({ statistics }: Replica, dimension: Dimension, key: string, seconds: number) =>
    toTotals((await statistics.calls(dimension, rangeOf(seconds))).get(key) ?? [], seconds);

  before(async () => {
    storage = await createTestDatabase();
    db = await openDatabase(storage);
  });
  after(async () => {
    await db.close();
    await storage.close();
  });

  test('API-025: what is counted adds up in every tier, in memory, stored, and after a restart', async () => {
    clock = Date.UTC(2030, 0, 1, 12);
    const first = start('first');
    for (let second = 0; second < 3_600; second += 5) {
      first.call({ ms: second % 100 });
      if (second % 50 === 0) first.call({ outcome: 'timeout' });
      if (second % 100 === 0) first.call({ outcome: 'tool_error', server: 'two' });
      clock += 5_000;
    }
    const seen = async (replica: Replica, seconds: number) => {
      const [one, two] = [
        await totals(replica, 'server', 'one', seconds),
        await totals(replica, 'server', 'two', seconds),
      ];
      return [one.calls, one.failed, two.calls, two.tool_errors];
    };
    const all = [720 + 72, 72, 36, 36];
    assert.deepEqual(await seen(first, 3_600), all, 'slots of ten seconds');
    assert.deepEqual(await seen(first, 20 * 3_600), all, 'of 15 minutes, with the open one');
    await first.statistics.close();

    const second = start('second');
    second.call({ server: 'one', outcome: 'cancelled' });
    const [calls = 0, ...rest] = all;
    for (const seconds of [3_600, 6 * 3_600, 20 * 3_600])
      assert.deepEqual(await seen(second, seconds), [calls + 1, ...rest], `${seconds} s`);
    const { p50_ms: p50 = 0 } = await totals(second, 'tool', 'one.echo', 3_600);
    assert.ok(Math.abs((p50 ?? 0) - 45) < 5, `the median is ${p50}`);
    await second.statistics.close();
  });

  test('API-025: replicas are counted together, clients apart, and details fade with age', async () => {
    clock = Date.UTC(2031, 0, 1, 12);
    const [a, b] = [start('a'), start('b')];
    for (let round = 0; round < 30; round += 1) {
      a.call({ client: 'cursor' });
      b.call({ client: round % 3 === 0 ? null : 'cursor' });
      clock += 10_000;
    }
    await a.statistics.close();
    assert.equal((await totals(b, 'server', 'one', 600)).calls, 60);
    const clients = await b.statistics.calls('client', rangeOf(600));
    const named = [...clients].map(([key, cells]) => [fromClientKey(key).client, toTotals(cells, 1).calls]);
    assert.deepEqual(
      named.sort(([, x], [, y]) => Number(y) - Number(x)),
      [
        ['cursor', 50],
        [null, 10],
      ],
    );
    clock += 3 * 3_600_000;
    b.call();
    assert.equal((await totals(b, 'server', 'one', 5 * 3_600)).calls, 61);
    await b.statistics.close();
    const fine = { step: 10, dimension: 'server', from: 0, to: clock };
    assert.equal((await findStatistics(db, fine)).length, 1, 'slots of ten seconds are kept for two hours');
    assert.ok((await findStatistics(db, { ...fine, step: 60 })).length > 1, 'those of a minute for longer');
  });

  test('tools beyond the limit are counted together, and servers still add up', async () => {
    clock = Date.UTC(2032, 0, 1, 12);
    const many = start('many');
    for (let tool = 0; tool < 800; tool += 1) many.call({ tool: `tool-${tool}` });
    const tools = await many.statistics.calls('tool', rangeOf(600));
    assert.equal(tools.size, 501);
    assert.equal(toTotals(tools.get('') ?? [], 1).calls, 300);
    assert.equal((await totals(many, 'server', 'one', 600)).calls, 800);
    await many.statistics.close();
  });

  test('tokens that were saved are counted by what saved them', async () => {
    clock = Date.UTC(2033, 0, 1, 12);
    const { statistics, changes } = start('tokens');
    changes.publish('tools.listed', { tokens_before: 5_000, tokens_after: 300 });
    clock += 20_000;
    changes.publish('tools.listed', { tokens_before: 5_000, tokens_after: 300 });
    changes.publish('query.finished', { ms: 1, tokens_before: 900, tokens_after: 100 });
    assert.deepEqual(Object.fromEntries(await statistics.tokens(rangeOf(600))), {
      list: { times: 2, before: 10_000, after: 600 },
      query: { times: 1, before: 900, after: 100 },
    });
    await statistics.close();
  });
});
