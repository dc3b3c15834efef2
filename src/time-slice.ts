/** Processes foreign text in time slices of a few milliseconds, so that other work can run in between. */

/** Long enough to be efficient, short enough that other calls are not delayed noticeably. */
const sliceMs = 4;
/** Longer texts are read by a worker thread and written in separate slices. */
export const largeBytes = 524_288;

export interface TimeSlice {
  /** Undefined while the slice has time left; otherwise resolves after other work has run. */
  giveWay(): Promise<void> | undefined;
  end(): void;
}

export const isSliceOver = (began: number): boolean => performance.now() - began >= sliceMs;

/** `onEnd` gets the time that each slice took. */
export function createTimeSlice(onEnd?: (ms: number) => void): TimeSlice {
  let began = performance.now();
  return {
    giveWay() {
      if (!isSliceOver(began)) return undefined;
      onEnd?.(performance.now() - began);
      return nextTurn().then(() => {
        began = performance.now();
      });
    },
    end: () => onEnd?.(performance.now() - began),
  };
}

/** A short burst is free, so that answers are not delayed. */
const burstMs = 8;

/** Keeps one server's text to half of the time. `rest` tells for how long nothing more of it is to be read. */
export function createTimeShare(): { rest(began: number): number } {
  let debtMs = 0;
  let last = performance.now();
  return {
    rest(began) {
      const now = performance.now();
      debtMs = Math.max(0, debtMs - (began - last)) + (now - began);
      last = now;
      return debtMs > burstMs ? debtMs : 0;
    },
  };
}

/** Runs a generator that yields where it may be interrupted; the signal aborts it. */
export async function inSlices<T>(work: Iterator<void, T>, slice: TimeSlice, signal: AbortSignal): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    const turn = slice.giveWay();
    if (turn === undefined) continue;
    await turn;
    signal.throwIfAborted();
  }
}

export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
