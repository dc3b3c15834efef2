/** Queries all servers concurrently, the most promising first. Failures of a server are returned as data. */
import { availableParallelism } from 'node:os';
import { describe } from '../errors.ts';
import { type CallSlots, createCallSlots } from './call-slots.ts';
import { nothingRead } from './reading/reading.ts';
import type { ReadCall, Reading, ReadingLimits } from './reading/reading-state.ts';
import type { RelevantItem } from './results/items.ts';

export interface FanOutLimits {
  serverTimeoutMs: number;
  totalTimeoutMs: number;
  /** Memory for the text of one query, copies for comparing included; shared out evenly so that order changes nothing. */
  maxBytes: number;
  maxItems: number;
  /** Calls of programs of this machine, and of servers elsewhere, at the same time. */
  localCalls: number;
  remoteCalls: number;
  maxCallsPerServer: number;
}

export const defaultFanOutLimits: FanOutLimits = {
  serverTimeoutMs: 3_000,
  totalTimeoutMs: 5_000,
  maxBytes: 10 * 1024 * 1024,
  maxItems: 400,
  localCalls: 3 * availableParallelism(),
  remoteCalls: 64,
  maxCallsPerServer: 40,
};

export interface ServerOutcome {
  server: string;
  ok: boolean;
  ms: number;
  calls: ReadCall[];
  items: RelevantItem[];
  rawItems: number;
  receivedChars: number;
  error?: string;
  /** Tools that were not called because they kept failing. */
  resting: readonly string[];
  isPaused?: true;
}

/** The time of one server, and its share of the calls under way. */
export interface ServerTurn {
  /** Ends when the time is up or the client has gone. */
  signal: AbortSignal;
  /** What an error says when the time is up. */
  timeoutMessage: string;
  /** Waits for a place; the first one starts the clock. Resolves with what gives the place back. */
  takeSlot(priority: number): Promise<() => void>;
}

/** How one server is asked, within limits and until its time is up. */
export interface ServerAsk {
  server: string;
  /** A program of this machine. */
  isLocal: boolean;
  read(limits: ReadingLimits, turn: ServerTurn): Promise<Reading>;
}

/** A character takes up to two bytes as it came, two more prepared for comparing, and one on the way out. */
const bytesPerChar = 5;

/** Rejects only when `signal` ends (the client has gone); every call that still runs is aborted then. */
export async function fanOut(
  asks: readonly ServerAsk[],
  limits: FanOutLimits,
  signal: AbortSignal,
  onOutcome: (outcome: ServerOutcome) => void = () => undefined,
): Promise<ServerOutcome[]> {
  signal.throwIfAborted();
  const share = shareOf(limits, asks.length);
  const end = new AbortController();
  const timer = setTimeout(() => end.abort(timedOut()), limits.totalTimeoutMs);
  const [local, remote] = [createCallSlots(limits.localCalls), createCallSlots(limits.remoteCalls)];
  try {
    const outcomes = await Promise.all(
      asks.map(async (ask) => {
        const turn = createTurn(ask.isLocal ? local : remote, limits, AbortSignal.any([signal, end.signal]));
        const outcome = await askServer(ask, share, turn);
        if (!signal.aborted) onOutcome(outcome);
        return outcome;
      }),
    );
    signal.throwIfAborted();
    return outcomes;
  } finally {
    clearTimeout(timer);
  }
}

const timedOut = (): DOMException => new DOMException('timed out', 'TimeoutError');

interface Turn extends ServerTurn {
  readonly ms: number;
  close(): void;
}

function createTurn(slots: CallSlots, { serverTimeoutMs, totalTimeoutMs }: FanOutLimits, outer: AbortSignal): Turn {
  const timeout = new AbortController();
  const signal = AbortSignal.any([outer, timeout.signal]);
  const timeoutMs = Math.min(serverTimeoutMs, totalTimeoutMs);
  let timer: NodeJS.Timeout | undefined;
  let started: number | undefined;
  return {
    signal,
    timeoutMessage: `timeout after ${Number((timeoutMs / 1_000).toFixed(2))}s`,
    async takeSlot(priority) {
      const giveBack = await slots.take(priority, signal);
      started ??= performance.now();
      timer ??= setTimeout(() => timeout.abort(timedOut()), timeoutMs);
      return giveBack;
    },
    get ms() {
      return started === undefined ? 0 : Math.round(performance.now() - started);
    },
    close: () => clearTimeout(timer),
  };
}

function shareOf({ maxBytes, maxItems, maxCallsPerServer }: FanOutLimits, servers: number): ReadingLimits {
  const count = Math.max(1, servers);
  return {
    maxCalls: maxCallsPerServer,
    maxExploring: Math.max(minExploring, Math.floor(maxExploring / count)),
    maxChars: Math.floor(maxBytes / bytesPerChar / count),
    maxItems: Math.max(minItems, Math.floor(maxItems / count)),
  };
}

/** Over all servers. */
const maxExploring = 160;
const minExploring = 6;
/** However many servers there are, the best of each has room. */
const minItems = 10;

async function askServer({ server, read }: ServerAsk, limits: ReadingLimits, turn: Turn): Promise<ServerOutcome> {
  try {
    const reading = await read(limits, turn);
    // Other servers held every place until the time was up: it was not asked, and did not succeed.
    if (turn.signal.aborted && reading.calls.length === 0 && reading.resting.length === 0 && !reading.isPaused)
      return { ...failedOutcome(server, turn.timeoutMessage), ms: turn.ms };
    return toOutcome(server, reading, turn.ms);
  } catch (error) {
    return { ...failedOutcome(server, describe(error)), ms: turn.ms };
  } finally {
    turn.close();
  }
}

export function failedOutcome(server: string, error: string): ServerOutcome {
  return { server, ok: false, ms: 0, ...nothingRead, error };
}

function toOutcome(server: string, reading: Reading, ms: number): ServerOutcome {
  const failed = reading.calls.filter(({ error }) => error !== undefined);
  const ok = failed.length < reading.calls.length || reading.calls.length === 0;
  const errors = [...new Set(failed.map(({ error }) => error))].slice(0, 3).join('; ');
  return { server, ok, ms, ...reading, ...(ok ? {} : { error: errors }) };
}
