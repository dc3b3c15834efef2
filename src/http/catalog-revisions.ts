/** Which servers changed what they offer since a client last asked, so that lists of thousands of tools travel once. */
import { randomBytes } from 'node:crypto';
import type { Changes } from '../changes.ts';

export interface CatalogRevisions {
  /** Names the state of now; another one after a restart, or at another replica. */
  current(): string;
  /** The servers that changed or were removed since then; undefined where that is not known. */
  since(revision: string): { changed: ReadonlySet<string>; removed: ReadonlySet<string> } | undefined;
  close(): void;
}

/** Removed servers are remembered; who asks so rarely gets everything. */
const removedKept = 1_000;

export function createCatalogRevisions(changes: Changes): CatalogRevisions {
  const origin = randomBytes(6).toString('hex');
  const changedAt = new Map<string, number>();
  const removedAt = new Map<string, number>();
  let revision = 0;
  let forgottenBefore = 0;

  function touch(serverId: string): void {
    // The last news of a server may come after its removal.
    if (removedAt.has(serverId)) return;
    revision += 1;
    changedAt.set(serverId, revision);
  }

  function remove(serverId: string): void {
    revision += 1;
    changedAt.delete(serverId);
    removedAt.set(serverId, revision);
    const [oldest] = removedAt;
    if (removedAt.size <= removedKept || oldest === undefined) return;
    removedAt.delete(oldest[0]);
    forgottenBefore = oldest[1];
  }

  const offs = [
    changes.subscribe('server.registered', ({ server_id }) => {
      removedAt.delete(server_id);
      touch(server_id);
    }),
    changes.subscribe('server.updated', ({ server_id }) => touch(server_id)),
    changes.subscribe('server.removed', ({ server_id }) => remove(server_id)),
    changes.subscribe('catalog.changed', ({ server_id }) => touch(server_id)),
    changes.subscribe('tools.stored', ({ server_id }) => touch(server_id)),
    changes.subscribe('tools.classified', ({ tools }) => {
      for (const id of new Set(tools.map(({ source_server_id }) => source_server_id))) if (id !== null) touch(id);
    }),
  ];

  return {
    current: () => `${origin}.${revision}`,
    since(given) {
      const [from, text = ''] = given.split('.');
      const known = Number(text);
      if (from !== origin || !Number.isSafeInteger(known) || known < forgottenBefore || known > revision)
        return undefined;
      const after = (times: Map<string, number>) => new Set([...times].flatMap(([id, at]) => (at > known ? [id] : [])));
      return { changed: after(changedAt), removed: after(removedAt) };
    },
    close() {
      for (const off of offs) off();
    },
  };
}
