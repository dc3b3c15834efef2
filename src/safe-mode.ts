/**
 * Safe mode after repeated crashes. A server can crash the aggregator (out of memory, for example), and would do so again
 * after each restart. Failed starts are counted in the data directory; after several in a row, no server is connected.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface StartRecord {
  /** The reason for safe mode; undefined if it is inactive. */
  readonly safeMode: string | undefined;
  /** Called before servers are connected. */
  begin(): void;
  /** Called on a regular shutdown. */
  end(): void;
}

const fileName = 'starts.json';
/** Consecutive starts that crashed early. */
const maxCrashes = 3;
const steadyAfterMs = 120_000;

export function openStartRecord(
  dataDir: string,
  { mode, onError }: { mode: 'auto' | 'on' | 'off'; onError: (error: unknown) => void },
): StartRecord {
  const file = join(dataDir, fileName);
  const crashed = readStarts(file);
  const isSafe = mode === 'on' || (mode === 'auto' && crashed.length >= maxCrashes);
  let timer: NodeJS.Timeout | undefined;

  function attempt(act: () => void): void {
    try {
      act();
    } catch (error) {
      onError(error); // a full disk must not prevent the start
    }
  }

  function end(): void {
    clearTimeout(timer);
    attempt(() => rmSync(file, { force: true }));
  }

  return {
    safeMode: isSafe ? reason(mode, crashed) : undefined,
    begin() {
      if (isSafe) return; // the record is cleared at the next regular shutdown
      const starts = [...crashed, new Date().toISOString()].slice(-maxCrashes);
      attempt(() => {
        writeFileSync(`${file}.new`, `${JSON.stringify(starts)}\n`, { mode: 0o600 });
        renameSync(`${file}.new`, file);
      });
      timer = setTimeout(end, steadyAfterMs).unref();
    },
    end,
  };
}

function reason(mode: 'auto' | 'on' | 'off', crashed: readonly string[]): string {
  if (mode === 'on')
    return 'safe mode (MCP_AGGREGATOR_SAFE_MODE=on): no server is connected. Unset it, then restart the aggregator';
  return (
    `safe mode: no server is connected, because the last ${crashed.length} starts crashed (since ${crashed[0]}). ` +
    'Disconnect or remove the server that caused it (see the log), then restart the aggregator'
  );
}

/** An unreadable record counts as empty, because it must not prevent a start. */
function readStarts(file: string): string[] {
  try {
    const starts: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return Array.isArray(starts) ? starts.filter((start) => typeof start === 'string') : [];
  } catch {
    return []; // no start yet, or a crash while writing
  }
}
