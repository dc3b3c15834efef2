/**
 * Calls over time, by server, tool and client. Memory holds the open slot of each tier and what is not stored yet; the
 * database has the rest, of all replicas. A call costs three look-ups and three counts.
 */
import type { Changes, FinishedCall } from '../changes.ts';
import { createMutex } from '../mutex.ts';
import type { Database } from '../store/database.ts';
import type { StatisticsRow } from '../store/schema.ts';
import { deleteStatisticsBefore, findStatistics, upsertStatistics } from '../store/statistics.ts';
import { addCell, addStored, type Cell, countCall, createCell, type StoredCells, toStored } from './cell.ts';
import { slotSeconds, type TimeRange, tiers } from './time-range.ts';

export type Dimension = 'server' | 'tool' | 'client';

/** Tokens that models would have read without us, and those that they did read. */
export interface TokenCount {
  times: number;
  before: number;
  after: number;
}

export interface Statistics {
  /** By key, one cell for each step of the range; undefined where nothing happened. */
  calls(dimension: Dimension, range: TimeRange): Promise<Map<string, (Cell | undefined)[]>>;
  /** By what saved them. */
  tokens(range: TimeRange): Promise<Map<TokenSaver, TokenCount>>;
  close(): Promise<void>;
}

export type TokenSaver = 'list' | 'query';

interface Slot {
  /** Seconds since 1970. */
  at: number;
  calls: Record<Dimension, Map<string, Cell>>;
  tokens: Map<TokenSaver, TokenCount>;
}

interface StatisticsOptions {
  db: Database;
  changes: Changes;
  replicaId: string;
  onError: (error: unknown) => void;
  now?: () => number;
  storeEveryMs?: number;
}

const dimensions = ['server', 'tool', 'client'] as const;
/** What is beyond is counted under `others`. Servers are limited anyway, but can be removed and added. */
const maxKeys: Record<Dimension, number> = { server: 2_000, tool: 500, client: 200 };
export const others = '';
const separator = '\u001f';
/** An hour without the database. */
const maxUnstored = 4 * 400;
const pruneEveryMs = 60_000;

export const clientKey = (principal: string, client: string | null) => `${principal}${separator}${client ?? ''}`;

export function fromClientKey(key: string): { principal: string; client: string | null } {
  const [principal = '', client = ''] = key.split(separator);
  return { principal, client: client === '' ? null : client };
}

export function createStatistics(options: StatisticsOptions): Statistics {
  const { db, changes, replicaId, onError, now = Date.now, storeEveryMs = slotSeconds * 1_000 } = options;
  const clientKeys = createClientKeys();
  const unstored = new Map<string, StatisticsRow>();
  let open = tiers.map(({ seconds }) => createSlot(slotAt(seconds)));
  // Reading and storing take turns, so that a row is never counted twice or missed on its way to the database.
  const withLock = createMutex();
  let prunedAt = 0;

  function slotAt(seconds: number): number {
    return Math.floor(now() / 1_000 / seconds) * seconds;
  }

  /** The finest slot; the others follow when it ends. */
  function current(): Slot {
    const [slot] = open;
    if (slot !== undefined && slot.at === slotAt(slotSeconds)) return slot;
    endSlot();
    return open[0] as Slot;
  }

  function endSlot(): void {
    const [ended, ...coarser] = open as [Slot, ...Slot[]];
    const grown = coarser.map((slot, place) => {
      const { seconds } = tiers[place + 1] ?? tiers[2];
      const at = Math.floor(ended.at / seconds) * seconds;
      const target = slot.at === at ? slot : createSlot(at);
      addSlot(target, ended);
      return target;
    });
    if (!isEmpty(ended)) for (const [place, slot] of [ended, ...grown].entries()) keepRows(tiers[place]?.seconds, slot);
    open = [createSlot(slotAt(slotSeconds)), ...grown];
  }

  function keepRows(step: number = slotSeconds, slot: Slot): void {
    for (const [dimension, counts] of toBodies(slot)) {
      const key = `${step} ${slot.at} ${dimension}`;
      unstored.delete(key);
      unstored.set(key, { step, dimension, slot: slot.at, replica: replicaId, counts });
    }
    for (const key of unstored.keys()) {
      if (unstored.size <= maxUnstored) break;
      unstored.delete(key);
    }
  }

  async function store(): Promise<void> {
    if (unstored.size > 0) {
      const rows = [...unstored];
      await upsertStatistics(
        db,
        rows.map(([, row]) => row),
      );
      // What was counted meanwhile is another row under the same key.
      for (const [key, row] of rows) if (unstored.get(key) === row) unstored.delete(key);
    }
    if (now() - prunedAt < pruneEveryMs) return;
    prunedAt = now();
    for (const { seconds, keptSeconds } of tiers)
      await deleteStatisticsBefore(db, seconds, Math.floor(now() / 1_000) - keptSeconds);
  }

  const storeInTurn = () => withLock(store).catch(onError);

  function onFinished(call: FinishedCall): void {
    const { outcome, duration_ms: ms } = call;
    const { calls } = current();
    countCall(cellOf(calls.server, call.server_id, maxKeys.server), outcome, ms);
    countCall(cellOf(calls.tool, call.tool, maxKeys.tool), outcome, ms);
    countCall(cellOf(calls.client, clientKeys(call.principal, call.client), maxKeys.client), outcome, ms);
  }

  function onTokens(by: TokenSaver, before: number, after: number): void {
    addTokens(current().tokens, by, { times: 1, before, after });
  }

  const offs = [
    changes.subscribe('call.finished', onFinished),
    changes.subscribe('tools.listed', ({ tokens_before, tokens_after }) =>
      onTokens('list', tokens_before, tokens_after),
    ),
    changes.subscribe('query.finished', ({ tokens_before, tokens_after }) =>
      onTokens('query', tokens_before, tokens_after),
    ),
  ];
  const timer = setInterval(() => {
    current();
    void storeInTurn();
  }, storeEveryMs).unref();

  /** Of the tier of the range: what is stored, what is to be stored, and the open slot. */
  async function rowsOf(dimension: string, { from, to, tier }: TimeRange) {
    const stored = await findStatistics(db, { step: tier.seconds, dimension, from, to });
    // Ends the slot that is over, whose rows then wait to be stored.
    current();
    const isNewer = ({ slot, replica }: StatisticsRow) =>
      replica === replicaId && unstored.has(`${tier.seconds} ${slot} ${dimension}`);
    const waiting = [...unstored.values()].filter(
      (row) => row.step === tier.seconds && row.dimension === dimension && row.slot >= from && row.slot < to,
    );
    return [...stored.filter((row) => !isNewer(row)), ...waiting];
  }

  return {
    calls: (dimension, range) =>
      withLock(async () => {
        const { from, to, step } = range;
        const series = new Map<string, (Cell | undefined)[]>();
        const cellAt = (key: string, slot: number) => {
          const cells = series.get(key) ?? new Array<Cell | undefined>((to - from) / step).fill(undefined);
          series.set(key, cells);
          const place = Math.floor((slot - from) / step);
          const cell = cells[place] ?? createCell();
          cells[place] = cell;
          return cell;
        };
        for (const { slot, counts } of await rowsOf(dimension, range))
          for (const [key, stored] of Object.entries(counts as StoredCells)) addStored(cellAt(key, slot), stored);
        const slot = current();
        if (slot.at >= from && slot.at < to)
          for (const [key, cell] of slot.calls[dimension]) addCell(cellAt(key, slot.at), cell);
        return series;
      }),
    tokens: (range) =>
      withLock(async () => {
        const sum = new Map<TokenSaver, TokenCount>();
        for (const { counts } of await rowsOf('tokens', range))
          for (const [by, count] of Object.entries(counts)) addTokens(sum, by as TokenSaver, count as TokenCount);
        const slot = current();
        if (slot.at >= range.from && slot.at < range.to)
          for (const [by, count] of slot.tokens) addTokens(sum, by, count);
        return sum;
      }),
    async close() {
      for (const off of offs) off();
      clearInterval(timer);
      endSlot();
      await storeInTurn();
    },
  };
}

const createSlot = (at: number): Slot => ({
  at,
  calls: { server: new Map(), tool: new Map(), client: new Map() },
  tokens: new Map(),
});

const isEmpty = ({ calls, tokens }: Slot) => calls.server.size === 0 && tokens.size === 0;

function cellOf(cells: Map<string, Cell>, key: string, most: number): Cell {
  const known = cells.get(key);
  if (known !== undefined) return known;
  if (cells.size >= most && key !== others) return cellOf(cells, others, most);
  const cell = createCell();
  cells.set(key, cell);
  return cell;
}

function addSlot(to: Slot, from: Slot): void {
  for (const dimension of dimensions)
    for (const [key, cell] of from.calls[dimension])
      addCell(cellOf(to.calls[dimension], key, maxKeys[dimension]), cell);
  for (const [by, count] of from.tokens) addTokens(to.tokens, by, count);
}

function addTokens(to: Map<TokenSaver, TokenCount>, by: TokenSaver, { times, before, after }: TokenCount): void {
  const sum = to.get(by) ?? { times: 0, before: 0, after: 0 };
  to.set(by, { times: sum.times + times, before: sum.before + before, after: sum.after + after });
}

function toBodies({ calls, tokens }: Slot): [string, Record<string, unknown>][] {
  const bodies = dimensions.map((dimension): [string, Record<string, unknown>] => [
    dimension,
    Object.fromEntries([...calls[dimension]].map(([key, cell]) => [key, toStored(cell)])),
  ]);
  return [...bodies, ['tokens', Object.fromEntries(tokens)]].filter(
    (body): body is [string, Record<string, unknown>] => Object.keys(body[1] ?? {}).length > 0,
  );
}

/** The key of a principal and its client, joined once and not per call. */
function createClientKeys(): (principal: string, client: string | null) => string {
  const keys = new Map<string, Map<string | null, string>>();
  return (principal, client) => {
    const known = keys.get(principal)?.get(client);
    if (known !== undefined) return known;
    // Names come from clients: a map that only grows would be a leak.
    if (keys.size >= 1_000) keys.clear();
    const own = keys.get(principal) ?? new Map<string | null, string>();
    if (own.size >= 1_000) own.clear();
    const key = clientKey(principal, client);
    keys.set(principal, own.set(client, key));
    return key;
  };
}
