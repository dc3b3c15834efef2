import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultFanOutLimits, type FanOutLimits, fanOut, type ServerAsk } from '../../src/query/fan-out.ts';
import { nothingRead } from '../../src/query/reading/reading.ts';
import type { ReadCall, Reading, ReadingLimits } from '../../src/query/reading/reading-state.ts';

const live = new AbortController().signal;
const limits = (changed: Partial<FanOutLimits> = {}): FanOutLimits => ({ ...defaultFanOutLimits, ...changed });

const call = (error?: string): ReadCall => ({
  tool: 'search',
  ms: 1,
  items: 0,
  ...(error === undefined ? {} : { error }),
});
const reading = (...calls: ReadCall[]): Reading => ({ ...nothingRead, calls });

const asking = (server: string, read: ServerAsk['read'], isLocal = false): ServerAsk => ({ server, isLocal, read });

/** Holds its place until the time is up. */
const hanging: ServerAsk['read'] = async (_limits, turn) => {
  const giveBack = await turn.takeSlot(1).catch(() => undefined);
  if (giveBack === undefined) return nothingRead;
  const { promise, resolve } = Promise.withResolvers<void>();
  turn.signal.addEventListener('abort', () => resolve());
  if (!turn.signal.aborted) await promise;
  giveBack();
  return reading(call(turn.timeoutMessage));
};

test('Q-007: a server that throws is data, the others answer, in the order they were asked', async () => {
  const outcomes = await fanOut(
    [
      asking('broken', async () => {
        throw new Error('no index');
      }),
      asking('fine', async () => reading(call())),
    ],
    limits(),
    live,
  );
  assert.deepEqual(
    outcomes.map(({ server, ok, error }) => ({ server, ok, error })),
    [
      { server: 'broken', ok: false, error: 'no index' },
      { server: 'fine', ok: true, error: undefined },
    ],
  );
});

test('Q-007: one answer among failures is a success; failures alone are not, and are said once each', async () => {
  const [mixed, failed, quiet] = await fanOut(
    [
      asking('mixed', async () => reading(call('refused'), call())),
      asking('failed', async () => reading(call('refused'), call('refused'), call('gone'))),
      asking('quiet', async () => reading()),
    ],
    limits(),
    live,
  );
  assert.deepEqual([mixed?.ok, mixed?.error], [true, undefined]);
  assert.deepEqual([failed?.ok, failed?.error], [false, 'refused; gone']);
  assert.equal(quiet?.ok, true, 'nothing had to be asked');
});

test('Q-006: the time of a server begins with its first call and ends with a timeout', async () => {
  const slowEnded = Promise.withResolvers<void>();
  let isAborted: boolean | undefined;
  const [slow, idle] = await fanOut(
    [
      asking('slow', hanging),
      asking('idle', async (_limits, turn) => {
        await slowEnded.promise;
        isAborted = turn.signal.aborted;
        return reading();
      }),
    ],
    limits({ serverTimeoutMs: 30, totalTimeoutMs: 10_000 }),
    live,
    () => slowEnded.resolve(),
  );
  assert.deepEqual([slow?.ok, slow?.error], [false, 'timeout after 0.03s']);
  assert.deepEqual([idle?.ok, isAborted], [true, false], 'who has not called yet has all its time');
});

test('Q-006: the time of all ends every server, and the message names the shorter time', async () => {
  const [one] = await fanOut([asking('slow', hanging)], limits({ serverTimeoutMs: 60_000, totalTimeoutMs: 40 }), live);
  assert.equal(one?.error, 'timeout after 0.04s');
});

test('a server whose turn never came did not succeed', async () => {
  const [first, second] = await fanOut(
    [asking('first', hanging, true), asking('second', hanging, true)],
    limits({ localCalls: 1, totalTimeoutMs: 60 }),
    live,
  );
  assert.deepEqual([first?.ok, first?.calls.length], [false, 1]);
  assert.deepEqual([second?.ok, second?.error, second?.calls.length], [false, 'timeout after 0.06s', 0]);
});

test('programs of this machine wait for one another, servers elsewhere do not wait for them', async () => {
  const order: string[] = [];
  const remoteDone = Promise.withResolvers<void>();
  const local =
    (name: string): ServerAsk['read'] =>
    async (_limits, turn) => {
      const giveBack = await turn.takeSlot(1);
      order.push(`${name} begins`);
      await remoteDone.promise;
      order.push(`${name} ends`);
      giveBack();
      return reading(call());
    };
  await fanOut(
    [
      asking('a', local('a'), true),
      asking('b', local('b'), true),
      asking('elsewhere', async (_limits, turn) => {
        (await turn.takeSlot(1))();
        remoteDone.resolve();
        return reading(call());
      }),
    ],
    limits({ localCalls: 1 }),
    live,
  );
  assert.deepEqual(order, ['a begins', 'a ends', 'b begins', 'b ends']);
});

test('memory and items are shared out evenly, with room for the best of each', async () => {
  const shareOf = async (servers: number): Promise<ReadingLimits> => {
    let given: ReadingLimits | undefined;
    const ask = asking('x', async (share) => {
      given = share;
      return reading();
    });
    await fanOut(
      Array.from({ length: servers }, () => ask),
      limits({ maxBytes: 1_000, maxItems: 400 }),
      live,
    );
    return given ?? assert.fail('not asked');
  };
  const [alone, ofFour, ofMany] = [await shareOf(1), await shareOf(4), await shareOf(100)];
  assert.deepEqual([alone.maxChars, alone.maxItems], [200, 400]);
  assert.deepEqual([ofFour.maxChars, ofFour.maxItems], [50, 100]);
  assert.equal(ofMany.maxItems, 10);
  assert.ok(alone.maxExploring > ofFour.maxExploring && ofMany.maxExploring > 0);
});

test('each outcome is told as it comes', async () => {
  const told: string[] = [];
  const fastTold = Promise.withResolvers<void>();
  await fanOut(
    [
      asking('slow', async () => {
        await fastTold.promise;
        return reading();
      }),
      asking('fast', async () => reading()),
    ],
    limits(),
    live,
    ({ server }) => {
      told.push(server);
      if (server === 'fast') fastTold.resolve();
    },
  );
  assert.deepEqual(told, ['fast', 'slow']);
});

test('when the client goes, every call is aborted, nothing is told and the fan-out rejects', async () => {
  const client = new AbortController();
  const told: string[] = [];
  let aborted = 0;
  const leaving: ServerAsk['read'] = async (share, turn) => {
    turn.signal.addEventListener('abort', () => {
      aborted += 1;
    });
    queueMicrotask(() => client.abort(new Error('the client has gone')));
    return await hanging(share, turn);
  };
  const asks = [asking('a', leaving), asking('b', leaving)];
  await assert.rejects(
    fanOut(asks, limits(), client.signal, ({ server }) => void told.push(server)),
    /the client has gone/,
  );
  assert.deepEqual([aborted, told], [2, []]);
  await assert.rejects(
    fanOut([asking('a', () => assert.fail('asked'))], limits(), client.signal),
    /the client has gone/,
  );
});
