/**
 * What earlier questions taught about a server: names of its files, tables and notes (handles, never contents), which
 * form of words its searches want, which tools fail. In memory, for each principal, bounded, forgotten when stale.
 */

import type { Arguments } from './bind.ts';
import type { Entry, Scalar } from './entries.ts';
import type { Table } from './sql.ts';

export interface KnownListing {
  tool: string;
  arguments: Arguments;
  noun: string;
  scope: Arguments;
  context: string;
  entries: readonly Entry[];
  /** There were no others. */
  isAll: boolean;
  at: number;
}

const handleKeys = new Set(['', 'id', 'uid', 'key', 'name', 'title', 'path', 'uri', 'url', 'slug', 'type']);
const longName = 120;

/** Names and nothing else: asking for them again would tell nothing new. */
export const isNamesOnly = ({ entries }: KnownListing): boolean =>
  entries.every(
    ({ fields, label }) =>
      label.length <= longName && Object.keys(fields).every((key) => handleKeys.has(key.toLowerCase())),
  );

/** In which form a search was asked. */
export type WordForm = 'question' | 'keywords' | 'word';

export interface ServerKnowledge {
  /** Listings that hold handles only and are fresh. */
  listings(now: number): readonly KnownListing[];
  addListing(listing: KnownListing): void;
  tables(now: number): readonly Table[] | undefined;
  setTables(tables: readonly Table[], now: number): void;
  tool(name: string): ToolRecord;
  /** Of the server as a whole: times that it gave no answer at all. */
  readonly server: ToolRecord;
  /** How it went when one tool read what another one listed. */
  pair(from: string, tool: string): ToolRecord;
}

interface ToolRecord {
  /** Failures since the last answer that helped. */
  failures: number;
  /** Before this time it is left alone. */
  restsUntil: number;
  found: Record<WordForm, number>;
  /** Which spelling of a handle worked. */
  spelling: number;
  /** What it answers to anything: input by skeleton. */
  skeletons: Map<string, string>;
}

interface Knowledge {
  of(principal: string, server: string): ServerKnowledge;
  forget(server: string): void;
}

const freshMs = 300_000;
const maxServers = 500;
const maxListings = 40;
const maxHandles = 4_000;
const maxSkeletons = 8;
const maxTools = 300;

export function createKnowledge(): Knowledge {
  const known = new Map<string, ServerKnowledge>();
  return {
    of(principal, server) {
      const key = `${server}\n${principal}`;
      const existing = known.get(key) ?? createServerKnowledge();
      // The one used longest ago makes room.
      known.delete(key);
      known.set(key, existing);
      const [oldest] = known.keys();
      if (known.size > maxServers && oldest !== undefined) known.delete(oldest);
      return existing;
    },
    forget(server) {
      for (const key of [...known.keys()]) if (key.startsWith(`${server}\n`)) known.delete(key);
    },
  };
}

function createServerKnowledge(): ServerKnowledge {
  const listings = new Map<string, KnownListing>();
  const tools = new Map<string, ToolRecord>();
  let schema: { tables: readonly Table[]; at: number } | undefined;
  let handles = 0;

  function drop(key: string): void {
    handles -= listings.get(key)?.entries.length ?? 0;
    listings.delete(key);
  }

  return {
    listings(now) {
      for (const [key, { at }] of [...listings]) if (now - at > freshMs) drop(key);
      return [...listings.values()];
    },
    addListing(listing) {
      const key = `${listing.tool} ${JSON.stringify(listing.arguments)}`;
      drop(key);
      if (!isHandlesOnly(listing.entries)) return;
      listings.set(key, { ...listing, entries: listing.entries.map(toHandle) });
      handles += listing.entries.length;
      for (const oldest of [...listings.keys()]) {
        if (listings.size <= maxListings && handles <= maxHandles) break;
        drop(oldest);
      }
    },
    tables: (now) => (schema !== undefined && now - schema.at <= freshMs ? schema.tables : undefined),
    setTables(tables, at) {
      schema = { tables, at };
    },
    tool: recordOf,
    server: createRecord(),
    pair: (from, tool) => recordOf(`${from}\n${tool}`),
  };

  function recordOf(key: string): ToolRecord {
    const record = tools.get(key) ?? createRecord();
    if (tools.size < maxTools) tools.set(key, record);
    return record;
  }
}

function createRecord(): ToolRecord {
  return {
    failures: 0,
    restsUntil: 0,
    found: { question: 0, keywords: 0, word: 0 },
    spelling: 0,
    skeletons: new Map(),
  };
}

const longHandle = 160;

/** A listing whose entries tell more than which things there are must be asked again. */
function isHandlesOnly(entries: readonly Entry[]): boolean {
  const chars = entries.reduce((sum, entry) => sum + entry.label.length, 0);
  return (
    entries.length > 0 &&
    entries.every(({ isDetailed, isTelling }) => !isDetailed && !isTelling) &&
    chars / entries.length < longHandle
  );
}

function toHandle(entry: Entry): Entry {
  const fields = Object.entries(entry.fields).filter(([, value]) => sizeOf(value) <= longHandle);
  return { ...entry, fields: Object.fromEntries(fields), label: entry.label.slice(0, longHandle) };
}

const sizeOf = (value: Scalar): number => (typeof value === 'object' ? value.rawJSON.length : String(value).length);

const restAfterFailures = 3;
const firstRestMs = 60_000;
const maxRestMs = 1_800_000;

/** A reader that keeps failing is asked less: after three failures for a minute, then for twice as long each time. */
export function recordFailure(record: ToolRecord, now: number): void {
  record.failures += 1;
  const over = record.failures - restAfterFailures;
  if (over >= 0) record.restsUntil = now + Math.min(maxRestMs, firstRestMs * 2 ** over);
}

export function recordSuccess(record: ToolRecord): void {
  record.failures = 0;
  record.restsUntil = 0;
}

/** True when the tool gave this very answer to something else: it says nothing about the question. */
export function isConstantAnswer(record: ToolRecord, skeleton: string | undefined, input: string): boolean {
  if (skeleton === undefined) return false;
  const before = record.skeletons.get(skeleton);
  if (before === undefined) {
    const [oldest] = record.skeletons.keys();
    if (record.skeletons.size >= maxSkeletons && oldest !== undefined) record.skeletons.delete(oldest);
    record.skeletons.set(skeleton, input);
  }
  return before !== undefined && before !== input;
}
