/**
 * V8 keeps the memory that a busy moment needed for the next one. Once we are quiet, the system gets it back: an
 * aggregator on somebody's laptop is quiet nearly always.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const lookEveryMs = 10_000;

interface Load {
  /** CPU time since the last look. */
  lately: number;
  /** CPU time since memory was last given back, or since the start. */
  since: number;
  heapUsed: number;
}

/** Everything waits while it is done, 20 to 40 ms for a usual heap: not in the middle of work, and not for nothing. */
export function shouldGiveBack({ lately, since, heapUsed }: Load): boolean {
  const quiet = lately < lookEveryMs * 0.02;
  const worthIt = since >= 1_000;
  const short = heapUsed <= 128 * 2 ** 20;
  return quiet && worthIt && short;
}

export function giveBackWhenQuiet(): void {
  let then = cpuMs();
  let givenBack = 0;
  setInterval(() => {
    const now = cpuMs();
    const load = { lately: now - then, since: now - givenBack, heapUsed: getHeapStatistics().used_heap_size };
    then = now;
    if (!shouldGiveBack(load)) return;
    giveBack();
    givenBack = cpuMs();
  }, lookEveryMs).unref();
}

function giveBack(): void {
  collector ??= exposeCollector();
  collector?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

let collector: NodeJS.GCFunction | undefined;

/** New contexts get the function while the flag is set; nobody else does. Undefined where a runtime has none. */
function exposeCollector(): NodeJS.GCFunction | undefined {
  setFlagsFromString('--expose-gc');
  const found = runInNewContext('globalThis.gc') as NodeJS.GCFunction | undefined;
  setFlagsFromString('--no-expose-gc');
  return found;
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
