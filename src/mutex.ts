/** Runs tasks one at a time, in order. */
type Mutex = <T>(task: () => Promise<T>) => Promise<T>;

/** For data that is in memory and in the store: a read during a write could restore the old value. */
export function createMutex(): Mutex {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const done = last.then(task, task);
    last = done;
    return done;
  };
}
