/**
 * What is under way, in the order in which it came: items that come and go by the thousand, each under a number of its
 * own that is never used again.
 *
 * A Set or Map would do, but for the collector: a table that one of them has outgrown points to the next, so once one
 * table is old, all that follow and everything they ever held live until the next full collection. With every call in
 * such a table a server pauses ten times as long and promotes several kilobytes per call.
 */
interface InFlightTable<T> extends Iterable<T> {
  readonly size: number;
  add(item: T): number;
  get(id: number): T | undefined;
  remove(id: number): T | undefined;
}

/** Numbers up to `last` are taken already. */
export function createInFlightTable<T>(last = 0): InFlightTable<T> {
  let ids: number[] = new Array(16).fill(0);
  let items: (T | undefined)[] = new Array(16).fill(undefined);
  let size = 0;
  let given = last;

  /** Ids that have a place of their own among n have one among 2n. */
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
