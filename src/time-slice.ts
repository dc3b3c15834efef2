/** Processes foreign text in time slices of a few milliseconds, so that other work can run in between. */

/** Long enough to be efficient, short enough that other calls are not delayed noticeably. */
const sliceMs = 4;
/** Longer texts are split, parsed and written in separate slices. */
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
