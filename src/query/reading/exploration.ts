/**
 * All servers first do what promises much. Only then, and only while none of them has the answer, do they look into
 * things that may have nothing to do with the question. This keeps small machines free for the calls that matter.
 */
export interface Exploration {
  /** A server begins; it must say when it has done what promises much, or has ended. */
  enter(): { done(): void };
  /** Some server holds an item that is the answer beyond doubt. */
  reportAnswer(): void;
  readonly isAnswered: boolean;
  /** Resolves when every server has done what promises much, or was waited for long enough. */
  readonly opened: Promise<void>;
}

const maxWaitMs = 1_000;

export function createExploration(): Exploration {
  const opened = Promise.withResolvers<void>();
  let waiting = 0;
  let isAnswered = false;
  let timer: NodeJS.Timeout | undefined;
  return {
    enter() {
      waiting += 1;
      timer ??= setTimeout(opened.resolve, maxWaitMs).unref();
      let isDone = false;
      return {
        done() {
          if (isDone) return;
          isDone = true;
          waiting -= 1;
          if (waiting > 0) return;
          clearTimeout(timer);
          opened.resolve();
        },
      };
    },
    reportAnswer() {
      isAnswered = true;
    },
    get isAnswered() {
      return isAnswered;
    },
    opened: opened.promise,
  };
}
