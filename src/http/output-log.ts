/** The latest lines that STDIO servers wrote to stderr, for the dashboard: bounded, in this process only, masked. */
import type { Changes } from '../changes.ts';

export interface OutputLine {
  /** Counts the lines of a server. */
  seq: number;
  at: string;
  text: string;
}

export interface OutputLog {
  /** Lines after `seq`, the oldest first. */
  lines(serverId: string, after?: number): OutputLine[];
  /** Calls the listener with each new line; returns the function that ends it. */
  follow(serverId: string, listener: (line: OutputLine) => void): () => void;
  close(): void;
}

/** A line has at most 500 characters. */
const linesKept = 500;

interface Kept {
  last: number;
  lines: OutputLine[];
  listeners: Set<(line: OutputLine) => void>;
}

export function createOutputLog(changes: Changes, now: () => number = Date.now): OutputLog {
  const servers = new Map<string, Kept>();

  function keptOf(serverId: string): Kept {
    const kept = servers.get(serverId) ?? { last: 0, lines: [], listeners: new Set() };
    servers.set(serverId, kept);
    return kept;
  }

  const offs = [
    changes.subscribe('server.output', ({ server_id, text }) => {
      const kept = keptOf(server_id);
      kept.last += 1;
      const line = { seq: kept.last, at: new Date(now()).toISOString(), text };
      kept.lines.push(line);
      // In steps, because removing the first of many lines moves all others.
      if (kept.lines.length >= linesKept * 2) kept.lines = kept.lines.slice(-linesKept);
      for (const listener of kept.listeners) listener(line);
    }),
    changes.subscribe('server.removed', ({ server_id }) => servers.delete(server_id)),
  ];

  return {
    lines: (serverId, after = 0) =>
      (servers.get(serverId)?.lines ?? []).slice(-linesKept).filter(({ seq }) => seq > after),
    follow(serverId, listener) {
      const { listeners } = keptOf(serverId);
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      for (const off of offs) off();
    },
  };
}
