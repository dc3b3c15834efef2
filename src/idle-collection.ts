/** Returns memory to the system when the process is idle: V8 keeps what a start or a busy minute needed. */
import { getHeapStatistics } from 'node:v8';

/** What the process did in one period. */
export interface Period {
  /** Processor time, as a part of one core. */
  load: number;
  /** Bytes that V8 holds without using them. */
  unusedBytes: number;
}

const periodMs = 10_000;
/** Health checks and timers stay below it; a call does not. */
const maxIdleLoad = 0.02;
const minUnusedBytes = 16_777_216;

/** A collection takes about 100 ms, so it must return something, and no request may be in progress. */
export function isWorthCollecting({ load, unusedBytes }: Period): boolean {
  return load <= maxIdleLoad && unusedBytes >= minUnusedBytes;
}

/** Without `--expose-gc` this does nothing. */
export function collectWhenIdle(collect = globalThis.gc): void {
  let usage = process.cpuUsage();
  function endPeriod(): void {
    const { user, system } = process.cpuUsage(usage);
    usage = process.cpuUsage();
    const { total_heap_size: total, used_heap_size: used } = getHeapStatistics();
    const period = { load: (user + system) / (periodMs * 1_000), unusedBytes: total - used };
    // The flavour also shrinks the young generation and gives empty pages back.
    if (isWorthCollecting(period)) void collect?.({ type: 'major', flavor: 'last-resort', execution: 'async' });
  }
  if (collect !== undefined) setInterval(endPeriod, periodMs).unref();
}
