/** Processes foreign text in time slices of a few milliseconds, so that other work can run in between. */

/** Long enough to be efficient, short enough that other calls are not delayed noticeably. */
export const sliceMs = 4;
/** Longer texts are read by a worker thread and written in separate slices. */
export const largeBytes = 524_288;

export interface TimeSlice {
  /** Undefined while the slice has time left; otherwise resolves after other work has run. */
  giveWay(): Promise<void> | undefined;
  end(): void;
}

/** When the turn of the event loop began, as far as work in slices knows: what runs in the same turn shares its time. */
let turnBegan: number | undefined;

/** To be asked before work and after it: the first question of a turn is its beginning. */
export function isTurnOver(): boolean {
  const now = performance.now();
  if (turnBegan !== undefined) return now - turnBegan >= sliceMs;
  turnBegan = now;
  setImmediate(endTurn);
  return false;
}

function endTurn(): void {
  turnBegan = undefined;
}

/** `onEnd` gets the time that each slice took. */
export function createTimeSlice(onEnd?: (ms: number) => void): TimeSlice {
  let began = performance.now();
  isTurnOver();
  return {
    giveWay() {
      if (!isTurnOver()) return undefined;
      onEnd?.(performance.now() - began);
      return nextTurn().then(() => {
        began = performance.now();
        isTurnOver();
      });
    },
    end: () => onEnd?.(performance.now() - began),
  };
}

/** A short burst is free, so that answers are not delayed. */
const burstMs = 4;
/** What takes no more of the time in the long run is never held up for longer than it took. */
const steadyShare = 0.1;
/** Each time that this much more was taken, the rests get longer. */
const patienceMs = 50;
const longestRests = 9;

/** Limits the text of one server to half of the time for a moment, and unsolicited text to a tenth in the long run. */
export interface TimeShare {
  /** For how long nothing more of it is to be read, after it was read since `began`. `unaskedMs`: that part of it. */
  rest(began: number, unaskedMs?: number): number;
}

export function createTimeShare(): TimeShare {
  /** Of the burst that is going on. */
  let debtMs = 0;
  /** Of unsolicited text, beyond the steady share. */
  let excessMs = 0;
  let last = performance.now();
  return {
    rest(began, unaskedMs) {
      const now = performance.now();
      const [idleMs, takenMs] = [Math.max(0, began - last), now - began];
      debtMs = Math.max(0, debtMs - idleMs) + takenMs;
      excessMs = Math.max(0, excessMs - idleMs * steadyShare) + (unaskedMs ?? takenMs);
      last = now;
      return debtMs > burstMs ? debtMs * Math.min(longestRests, 1 + excessMs / patienceMs) : 0;
    },
  };
}

/** Runs a generator that yields where it may be interrupted; the signal aborts it. */
export async function inSlices<T>(work: Iterator<void, T>, slice: TimeSlice, signal?: AbortSignal): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    const turn = slice.giveWay();
    if (turn === undefined) continue;
    await turn;
    signal?.throwIfAborted();
  }
}

/** In the order in which they came, and one of them in each turn: many at once would be a long turn. */
const waiting: (() => void)[] = [];

/** Resolves after other work has run. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(resumeOne);
  });
}

function resumeOne(): void {
  endTurn();
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(resumeOne);
}
