/**
 * In-flight items in insertion order, each with a number that is never reused.
 *
 * Not a Set or Map, because of garbage collection: a Map that grows links its old table to the new one, so once a table
 * is in the old generation, all later tables and their former entries live until the next full collection. With all
 * calls in a Map, pauses were ten times as long and several kilobytes per call were promoted.
 */
interface InFlightTable<T> extends Iterable<T> {
  readonly size: number;
  add(item: T): number;
  get(id: number): T | undefined;
  remove(id: number): T | undefined;
}

/** The highest number that is in use. */
export function createInFlightTable<T>(last = 0): InFlightTable<T> {
  let ids: number[] = new Array(16).fill(0);
  let items: (T | undefined)[] = new Array(16).fill(undefined);
  let size = 0;
  let given = last;

  /** Numbers without a collision modulo n have none modulo 2n. */
  function grow(): void {
    const [oldIds, oldItems] = [ids, items];
    ids = new Array(oldIds.length * 2).fill(0);
    items = new Array(oldIds.length * 2).fill(undefined);
    for (const [at, id] of oldIds.entries()) {
      if (id === 0) continue;
      ids[id % ids.length] = id;
      items[id % ids.length] = oldItems[at];
    }
  }

  return {
    get size() {
      return size;
    },
    add(item) {
      if (size * 2 >= ids.length) grow();
      do given += 1;
      while (ids[given % ids.length] !== 0);
      ids[given % ids.length] = given;
      items[given % ids.length] = item;
      size += 1;
      return given;
    },
    get: (id) => (id > 0 && ids[id % ids.length] === id ? items[id % ids.length] : undefined),
    remove(id) {
      const place = id % ids.length;
      if (!(id > 0) || ids[place] !== id) return undefined;
      const item = items[place];
      ids[place] = 0;
      items[place] = undefined;
      size -= 1;
      return item;
    },
    *[Symbol.iterator]() {
      const present = ids.filter((id) => id !== 0).sort((a, b) => a - b);
      for (const id of present) if (ids[id % ids.length] === id) yield items[id % ids.length] as T;
    },
  };
}
