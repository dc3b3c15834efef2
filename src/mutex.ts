/** One task at a time, in the order in which they came. */
type Mutex = <T>(task: () => Promise<T>) => Promise<T>;

/**
 * For what is kept in memory and in the store: a reading that overlapped a writing could bring back what was just
 * changed.
 */
export function createMutex(): Mutex {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const done = last.then(task, task);
    last = done;
    return done;
  };
}
