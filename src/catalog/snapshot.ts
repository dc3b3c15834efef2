/** Every known tool, prompt, resource and template as one immutable value. Pure: servers and their lists in, a snapshot out. */
import type { JsonObject } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import type { ServerItemKind, ToolRow } from '../store/schema.ts';
import { toWireName } from './tool-name.ts';

export interface CatalogTool {
  readonly row: ToolRow;
  /** As it was when the snapshot was taken. */
  readonly server: Server;
  readonly wireName: string;
}

export interface CatalogItem {
  readonly key: string;
  readonly wireName: string;
  readonly definition: JsonObject;
  /** As it was when the snapshot was taken. */
  readonly server: Server;
}

interface Lookup<Value> {
  get(key: string): Value | undefined;
}

export interface Snapshot {
  readonly tools: readonly CatalogTool[];
  readonly toolsByWireName: Lookup<CatalogTool>;
  readonly toolsByCanonicalName: Lookup<CatalogTool>;
  readonly toolsByOriginalName: Lookup<readonly CatalogTool[]>;
  readonly toolsByServer: Lookup<readonly CatalogTool[]>;
  readonly serversByName: Lookup<Server>;
  readonly items: Readonly<Record<ServerItemKind, readonly CatalogItem[]>>;
  readonly promptsByName: Lookup<CatalogItem>;
}

/** What one server listed. */
interface ServerLists {
  readonly tools: readonly ToolRow[];
  readonly items: Readonly<Record<ServerItemKind, readonly ListedItem[]>>;
}

export interface ListedItem {
  readonly key: string;
  readonly definition: JsonObject;
}

interface CatalogSnapshot extends Snapshot {
  /** The same lists with the servers as they are now; only what belongs to changed ones is made anew. */
  withServers(find: (id: string) => Server | undefined): CatalogSnapshot;
}

/** What a snapshot holds of one server. */
interface Part {
  readonly server: Server;
  readonly tools: readonly CatalogTool[];
  readonly items: Readonly<Record<ServerItemKind, readonly CatalogItem[]>>;
}

/** The place of a tool or prompt: names stay where they are when a server's record changes. */
interface Place {
  readonly serverId: string;
  readonly at: number;
}

interface Names {
  readonly wire: ReadonlyMap<string, Place>;
  readonly canonical: ReadonlyMap<string, Place>;
  readonly original: ReadonlyMap<string, readonly Place[]>;
  readonly prompts: ReadonlyMap<string, Place>;
}

export const itemKinds = ['prompt', 'resource', 'resource_template'] as const;

/** Servers in the given order, and within a server in the server's own order: the same list every time. */
export function createSnapshot(
  servers: readonly Server[],
  listsOf: (serverId: string) => ServerLists,
): CatalogSnapshot {
  const parts = new Map<string, Part>();
  const wire = new Map<string, Place>();
  const canonical = new Map<string, Place>();
  const original = new Map<string, Place[]>();
  const prompts = new Map<string, Place>();
  for (const server of servers) {
    const lists = listsOf(server.id);
    const tools = lists.tools.map((row, at): CatalogTool => {
      const place = { serverId: server.id, at };
      const wireName = freeName(wire, toWireName(server.name, row.original_name));
      wire.set(wireName, place);
      canonical.set(row.name, place);
      append(original, row.original_name, place);
      return { row, server, wireName };
    });
    const toItems = (kind: ServerItemKind) =>
      lists.items[kind].map(({ key, definition }, at): CatalogItem => {
        const wireName = kind === 'prompt' ? toWireName(server.name, key) : key;
        if (kind === 'prompt') prompts.set(wireName, { serverId: server.id, at });
        return { key, definition, server, wireName };
      });
    parts.set(server.id, { server, tools, items: eachKind(toItems) });
  }
  return assemble(parts, { wire, canonical, original, prompts });
}

function assemble(parts: ReadonlyMap<string, Part>, names: Names): CatalogSnapshot {
  const all = [...parts.values()];
  const toolAt = (place: Place | undefined) => place && parts.get(place.serverId)?.tools[place.at];
  return {
    tools: all.flatMap(({ tools }) => tools),
    items: eachKind((kind) => all.flatMap(({ items }) => items[kind])),
    toolsByWireName: { get: (name) => toolAt(names.wire.get(name)) },
    toolsByCanonicalName: { get: (name) => toolAt(names.canonical.get(name)) },
    toolsByOriginalName: { get: (name) => names.original.get(name)?.flatMap((place) => toolAt(place) ?? []) },
    toolsByServer: { get: (id) => parts.get(id)?.tools },
    serversByName: { get: (name) => all.find(({ server }) => server.name === name)?.server },
    promptsByName: {
      get(name) {
        const place = names.prompts.get(name);
        return place && parts.get(place.serverId)?.items.prompt[place.at];
      },
    },
    withServers(find) {
      const next = new Map([...parts].map(([id, part]) => [id, withServer(part, find(id))]));
      return assemble(next, names);
    },
  };
}

function withServer(part: Part, server: Server | undefined): Part {
  if (server === undefined || server === part.server) return part;
  return {
    server,
    tools: part.tools.map((tool) => ({ ...tool, server })),
    items: eachKind((kind) => part.items[kind].map((item) => ({ ...item, server }))),
  };
}

function eachKind<Value>(make: (kind: ServerItemKind) => Value): Record<ServerItemKind, Value> {
  return { prompt: make('prompt'), resource: make('resource'), resource_template: make('resource_template') };
}

/** Two hashed names are practically never equal; if they are, the later one in the fixed order gets a number. */
function freeName(taken: ReadonlyMap<string, unknown>, wanted: string): string {
  let name = wanted;
  for (let number = 2; taken.has(name); number += 1) name = `${wanted}_${number}`;
  return name;
}

function append<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
