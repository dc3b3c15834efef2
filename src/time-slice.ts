/** Foreign text is read in slices: after a few milliseconds of it, whoever waits for something else has a turn. */

/** Long enough to be worth the change, short enough that nobody notices the wait. */
const sliceMs = 4;
/** Texts from here on are taken apart, parsed and written in turns of their own. */
export const largeBytes = 524_288;

export interface TimeSlice {
  isOver(): boolean;
  /** Undefined while there is time left, otherwise resolves when the others have had their turn. */
  giveWay(): Promise<void> | undefined;
  end(): void;
}

/** `onEnd` hears how long each slice took. */
export function createTimeSlice(onEnd?: (ms: number) => void): TimeSlice {
  let began = performance.now();
  const isOver = (): boolean => performance.now() - began >= sliceMs;
  return {
    isOver,
    giveWay() {
      if (!isOver()) return undefined;
      onEnd?.(performance.now() - began);
      return nextTurn().then(() => {
        began = performance.now();
      });
    },
    end: () => onEnd?.(performance.now() - began),
  };
}

/** Work that yields where it may be interrupted; with the signal, for good. */
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
