/** Every known tool, prompt, resource and template as one immutable value. Pure: servers and their lists in, a snapshot out. */
import type { JsonObject } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import type { ToolOverride } from '../registry/tool-overrides.ts';
import type { ServerItemKind, ToolRow } from '../store/schema.ts';
import { offerTool } from './offered-tool.ts';
import { toCanonical, toWireName } from './tool-name.ts';

export interface CatalogTool {
  /** As it is offered. */
  readonly row: ToolRow;
  /** As its server lists it: the same object unless an admin changed the tool. */
  readonly listed: ToolRow;
  readonly override?: ToolOverride;
  readonly enabled: boolean;
  /** Its name on the endpoint of its server. */
  readonly ownName: string;
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

/** Tools that an admin disabled are only in the last two. */
export interface Snapshot {
  readonly tools: readonly CatalogTool[];
  readonly toolsByWireName: Lookup<CatalogTool>;
  readonly toolsByCanonicalName: Lookup<CatalogTool>;
  readonly toolsByOriginalName: Lookup<readonly CatalogTool[]>;
  readonly toolsByServer: Lookup<readonly CatalogTool[]>;
  readonly serversByName: Lookup<Server>;
  readonly items: Readonly<Record<ServerItemKind, readonly CatalogItem[]>>;
  readonly promptsByName: Lookup<CatalogItem>;
  readonly everyToolByServer: Lookup<readonly CatalogTool[]>;
  /** By wire name and by canonical name. */
  readonly disabledTools: Lookup<CatalogTool>;
}

/** What one server listed. */
interface SnapshotLists {
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
  readonly everyTool: readonly CatalogTool[];
  /** Those that are enabled. */
  readonly tools: readonly CatalogTool[];
  readonly items: Readonly<Record<ServerItemKind, readonly CatalogItem[]>>;
}

/** The place of a tool or prompt: names stay where they are when a server's record changes. */
interface NamedAt {
  readonly serverId: string;
  readonly at: number;
}

interface Names {
  readonly wire: ReadonlyMap<string, NamedAt>;
  readonly canonical: ReadonlyMap<string, NamedAt>;
  readonly original: ReadonlyMap<string, readonly NamedAt[]>;
  readonly prompts: ReadonlyMap<string, NamedAt>;
}

export const itemKinds = ['prompt', 'resource', 'resource_template', 'skill'] as const;

/** Servers in the given order, and within a server in the server's own order: the same list every time. */
export function createSnapshot(
  servers: readonly Server[],
  listsOf: (serverId: string) => SnapshotLists,
): CatalogSnapshot {
  const parts = new Map<string, Part>();
  const wire = new Map<string, NamedAt>();
  const canonical = new Map<string, NamedAt>();
  const original = new Map<string, NamedAt[]>();
  const prompts = new Map<string, NamedAt>();
  for (const server of servers) {
    const lists = listsOf(server.id);
    const ownNames = toOwnNames(lists.tools, server);
    const everyTool = lists.tools.map((listed, at): CatalogTool => {
      const place = { serverId: server.id, at };
      const ownName = ownNames[at] ?? listed.original_name;
      const wireName = freeName(wire, toWireName(server.name, ownName));
      wire.set(wireName, place);
      canonical.set(toCanonical(server.name, ownName), place);
      canonical.set(listed.name, place);
      for (const name of new Set([ownName, listed.original_name])) append(original, name, place);
      return { ...offerTool(listed, server.tool_overrides), listed, server, ownName, wireName };
    });
    const toItems = (kind: ServerItemKind) =>
      lists.items[kind].map(({ key, definition }, at): CatalogItem => {
        const wireName = kind === 'prompt' ? toWireName(server.name, key) : key;
        if (kind === 'prompt') prompts.set(wireName, { serverId: server.id, at });
        return { key, definition, server, wireName };
      });
    const tools = everyTool.filter(({ enabled }) => enabled);
    parts.set(server.id, { server, everyTool, tools, items: eachKind(toItems) });
  }
  return assemble(parts, { wire, canonical, original, prompts });
}

function assemble(parts: ReadonlyMap<string, Part>, names: Names): CatalogSnapshot {
  const all = [...parts.values()];
  const anyToolAt = (place: NamedAt | undefined) => place && parts.get(place.serverId)?.everyTool[place.at];
  const toolAt = (place: NamedAt | undefined) => {
    const tool = anyToolAt(place);
    return tool?.enabled ? tool : undefined;
  };
  return {
    tools: all.flatMap(({ tools }) => tools),
    items: eachKind((kind) => all.flatMap(({ items }) => items[kind])),
    toolsByWireName: { get: (name) => toolAt(names.wire.get(name)) },
    toolsByCanonicalName: { get: (name) => toolAt(names.canonical.get(name)) },
    toolsByOriginalName: { get: (name) => names.original.get(name)?.flatMap((place) => toolAt(place) ?? []) },
    toolsByServer: { get: (id) => parts.get(id)?.tools },
    everyToolByServer: { get: (id) => parts.get(id)?.everyTool },
    disabledTools: {
      get(name) {
        const tool = anyToolAt(names.wire.get(name) ?? names.canonical.get(name));
        return tool?.enabled ? undefined : tool;
      },
    },
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
  const everyTool = part.everyTool.map((tool) => ({ ...tool, server }));
  return {
    server,
    everyTool,
    tools: everyTool.filter(({ enabled }) => enabled),
    items: eachKind((kind) => part.items[kind].map((item) => ({ ...item, server }))),
  };
}

export function eachKind<Value>(make: (kind: ServerItemKind) => Value): Record<ServerItemKind, Value> {
  return {
    prompt: make('prompt'),
    resource: make('resource'),
    resource_template: make('resource_template'),
    skill: make('skill'),
  };
}

/** A tool keeps the name that its server gave it, even where an admin renamed another tool to that before. */
function toOwnNames(rows: readonly ToolRow[], { tool_overrides }: Server): string[] {
  const taken = new Set(rows.map((row) => row.original_name));
  return rows.map(({ original_name }) => {
    const rename = Object.hasOwn(tool_overrides, original_name) ? tool_overrides[original_name]?.rename : undefined;
    if (rename === undefined || taken.has(rename)) return original_name;
    taken.add(rename);
    return rename;
  });
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
