/** What every server listed, in memory, and the snapshot that is made of it. */
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/config.ts';
import type { Registry, Server } from '../registry/registry.ts';
import type { Database } from '../store/database.ts';
import type { ServerItemKind, ServerItemRow, ToolRow } from '../store/schema.ts';
import { findServerItems } from '../store/server-items.ts';
import { findTools, type ToolChanges } from '../store/tools.ts';
import { type ByteBudget, createByteBudget } from './byte-budget.ts';
import { compareOffered } from './offered-tool.ts';
import { createSnapshot, eachKind, itemKinds, type ListedItem, type Snapshot } from './snapshot.ts';
import { withNews } from './tool-diff.ts';
import { toCanonical } from './tool-name.ts';

export type Items = Readonly<Record<ServerItemKind, readonly ListedItem[]>>;

/** A list is replaced and never changed: one that is the same object is the same list. */
export interface ServerLists {
  /** With the servers as they are now. */
  readonly snapshot: Snapshot;
  readonly budget: ByteBudget;
  tools(serverId: string): readonly ToolRow[] | undefined;
  items(serverId: string): Items;
  /** In the snapshot after the next `rebuild`. */
  setTools(serverId: string, rows: readonly ToolRow[]): void;
  setItems(serverId: string, kind: ServerItemKind, items: readonly ListedItem[]): void;
  /** Everything of a server, as it is stored. */
  setStored(serverId: string, rows: readonly ToolRow[], items: readonly ServerItemRow[]): void;
  /** Rows whose skills changed. */
  setClassified(rows: readonly ToolRow[]): void;
  delete(serverId: string): void;
  /** Takes over tools that were set, and servers that were added. */
  rebuild(): void;
  /** Takes over the name of a server and what was decided about its tools; undefined where both are the same. */
  applyServer(serverId: string): ToolChanges | undefined;
}

const noItems: Items = { prompt: [], resource: [], resource_template: [], skill: [] };

export async function createServerLists(deps: {
  db: Database;
  registry: Registry;
  config: Config;
}): Promise<ServerLists> {
  const { db, registry } = deps;
  const budget = createByteBudget(deps.config);
  const toolsOf = new Map<string, readonly ToolRow[]>();
  const itemsOf = new Map<string, Items>();
  for (const [id, rows] of Map.groupBy(await findTools(db), (row) => row.source_server_id ?? ''))
    toolsOf.set(id, byPosition(rows));
  for (const [id, rows] of Map.groupBy(await findServerItems(db), (row) => row.server_id))
    itemsOf.set(id, groupItems(rows));
  for (const id of new Set([...toolsOf.keys(), ...itemsOf.keys()])) measure(id);
  /** What the snapshot was built with, by server. */
  let applied = new Map<string, Server>();
  let registryVersion = registry.version;
  let snapshot = build();

  const items = (id: string) => itemsOf.get(id) ?? noItems;

  function measure(id: string): void {
    budget.record(id, 'tool', toolsOf.get(id) ?? []);
    for (const kind of itemKinds) budget.record(id, kind, itemsOf.get(id)?.[kind] ?? []);
  }

  function build() {
    registryVersion = registry.version;
    const servers = registry.list();
    applied = new Map(servers.map((server) => [server.id, server]));
    return createSnapshot(servers, (id) => ({
      tools: toolsOf.get(id) ?? [],
      items: itemsOf.get(id) ?? noItems,
    }));
  }

  function rebuild(): void {
    snapshot = build();
  }

  function applyServer(id: string): ToolChanges | undefined {
    const [before, server] = [applied.get(id), registry.find(id)];
    if (before === undefined || server === undefined) return undefined;
    const decided = ({ name, tool_overrides }: Server) => [name, tool_overrides];
    if (isDeepStrictEqual(decided(before), decided(server))) return undefined;
    const offered = () => (snapshot.toolsByServer.get(id) ?? []).map(({ row }) => row);
    const offeredBefore = offered();
    const rows = toolsOf.get(id) ?? [];
    toolsOf.set(
      id,
      rows.map((row) => ({ ...row, name: toCanonical(server.name, row.original_name) })),
    );
    rebuild();
    return compareOffered(offeredBefore, offered());
  }

  return {
    get snapshot() {
      if (registryVersion !== registry.version) {
        registryVersion = registry.version;
        snapshot = snapshot.withServers(registry.find);
      }
      return snapshot;
    },
    budget,
    tools: (id) => toolsOf.get(id),
    items,
    setTools: (id, rows) => void toolsOf.set(id, byPosition(rows)),
    setItems(id, kind, listed) {
      itemsOf.set(id, { ...items(id), [kind]: listed });
      rebuild();
    },
    setStored(id, rows, stored) {
      toolsOf.set(id, byPosition(rows));
      itemsOf.set(id, groupItems(stored));
      measure(id);
      rebuild();
    },
    setClassified(rows) {
      for (const [id, news] of Map.groupBy(rows, (row) => row.source_server_id ?? '')) {
        const own = toolsOf.get(id);
        if (own !== undefined) toolsOf.set(id, withNews(own, news));
      }
      rebuild();
    },
    delete(id) {
      toolsOf.delete(id);
      itemsOf.delete(id);
      budget.forget(id);
      rebuild();
    },
    rebuild,
    applyServer,
  };
}

const byPosition = (rows: readonly ToolRow[]) => rows.toSorted((a, b) => a.position - b.position);

function groupItems(rows: readonly ServerItemRow[]): Items {
  const ofKind = (kind: ServerItemKind) =>
    rows.flatMap((row) => (row.kind === kind ? [{ key: row.key, definition: row.definition }] : []));
  return eachKind(ofKind);
}
