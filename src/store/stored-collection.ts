/**
 * Rows that are kept in memory and follow the store: read at start, changed here, read again when another replica
 * changed them. Changes and readings take turns, because a reading that overlaps a change could undo it in memory.
 */
import type { Changes, EmptyTopicName } from '../changes.ts';
import { createMutex } from '../mutex.ts';

interface StoredCollection<Key, Value> {
  readonly entries: ReadonlyMap<Key, Value>;
  /** `store` writes to the database and then to `entries`; the other replicas read them again afterwards. */
  change<Result>(store: (entries: Map<Key, Value>) => Promise<Result>): Promise<Result>;
  /** Reads one entry, or all, again. */
  reload(key?: Key): Promise<void>;
}

interface StoredCollectionOptions<Key, Value> {
  /** The stored entries, or only the one with this key. */
  load(key?: Key): Promise<Iterable<readonly [Key, Value]>>;
  /** The topic of these rows. Without it the owner publishes its changes and calls `reload`. */
  replicated?: { changes: Changes; topic: EmptyTopicName };
  /** All entries were read again. */
  onReloaded?(before: ReadonlyMap<Key, Value>, after: ReadonlyMap<Key, Value>): void;
}

export async function createStoredCollection<Key, Value>(
  options: StoredCollectionOptions<Key, Value>,
): Promise<StoredCollection<Key, Value>> {
  const { load, replicated } = options;
  const withLock = createMutex();
  let entries = new Map(await load());

  async function readAll(): Promise<void> {
    const before = entries;
    entries = new Map(await load());
    options.onReloaded?.(before, entries);
  }

  async function readOne(key: Key): Promise<void> {
    const stored = new Map(await load(key));
    if (stored.has(key)) entries.set(key, stored.get(key) as Value);
    else entries.delete(key);
  }

  const reload = (key?: Key) => withLock(() => (key === undefined ? readAll() : readOne(key)));

  if (replicated !== undefined) {
    replicated.changes.follow(replicated.topic, () => reload());
    replicated.changes.follow('store.replaced', () => reload());
  }

  return {
    get entries() {
      return entries;
    },
    change: (store) =>
      withLock(async () => {
        const result = await store(entries);
        replicated?.changes.publish(replicated.topic, {});
        return result;
      }),
    reload,
  };
}
