/**
 * A server can end us (out of memory, say), and connecting it again after each restart would end us again. Starts that
 * did not last are counted in the data directory; after a few in a row, no server is connected until the next restart.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface StartRecord {
  /** Why no server is to be connected; undefined where nothing speaks against it. */
  readonly safeMode: string | undefined;
  /** Servers are about to be connected. */
  begin(): void;
  /** We end in good order. */
  end(): void;
}

const fileName = 'starts.json';
/** Starts in a row that ended before their time, without being asked to. */
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
      onError(error); // a full disk must not keep us from starting
    }
  }

  function end(): void {
    clearTimeout(timer);
    attempt(() => rmSync(file, { force: true }));
  }

  return {
    safeMode: isSafe ? reason(mode, crashed) : undefined,
    begin() {
      if (isSafe) return; // the record stays as it is, until we end in good order
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

/** What cannot be read counts as nothing: the record is there to help, not to get in the way. */
function readStarts(file: string): string[] {
  try {
    const starts: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return Array.isArray(starts) ? starts.filter((start) => typeof start === 'string') : [];
  } catch {
    return []; // no start yet, or a crash while writing
  }
}
