/** Detects a blocked event loop and reports the work that blocked it. */
import type { Logger } from './log.ts';
import { createTimeSlice, type TimeSlice } from './time-slice.ts';

/** The server whose text is being processed. */
export interface Work {
  server: string;
  tool: string;
}

export interface EventLoopWatchdog {
  /** Starts watching; requests are accepted from now on. */
  start(): void;
  /** Starts timing work that a report should name; the caller must end it. */
  begin(work: Work): TimeSlice;
  close(): void;
}

interface WatchdogDependencies {
  log: Logger;
  /** `work` is undefined if no named work took the time. */
  onBlocked(ms: number, work: Work | undefined): void;
}

const tickMs = 100;
const blockedMs = 200;
/** Minimum time between log lines, per server and for all other work together. */
const quietMs = 30_000;
const maxRemembered = 1_000;

export function createEventLoopWatchdog({ log, onBlocked }: WatchdogDependencies): EventLoopWatchdog {
  let lastTick = performance.now();
  let longest: { work: Work; ms: number } | undefined;
  const loggedAt = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;

  function tick(): void {
    const now = performance.now();
    const ms = Math.round(now - lastTick - tickMs);
    const work = longest !== undefined && longest.ms >= ms / 2 ? longest.work : undefined;
    lastTick = now;
    longest = undefined;
    if (ms < blockedMs) return;
    onBlocked(ms, work);
    report(ms, work, now);
  }

  function report(ms: number, work: Work | undefined, now: number): void {
    const key = work?.server ?? '';
    if (now - (loggedAt.get(key) ?? Number.NEGATIVE_INFINITY) < quietMs) return;
    if (loggedAt.size >= maxRemembered) loggedAt.clear();
    loggedAt.set(key, now);
    if (work === undefined) log.warn({ ms }, 'the event loop was blocked; no request was answered during this time');
    else log.warn({ ms, ...work }, 'the event loop was blocked by reading the answer of a tool');
  }

  return {
    start() {
      lastTick = performance.now();
      timer ??= setInterval(tick, tickMs).unref();
    },
    begin: (work) =>
      createTimeSlice((ms) => {
        if (ms > (longest?.ms ?? 0)) longest = { work, ms };
      }),
    close: () => clearInterval(timer),
  };
}
