/**
 * Loaded into the aggregator with `--import`: for how long it kept its own event loop busy without a pause. Processor
 * time of the main thread, so that another process on a busy machine does not count. Asked over a socket.
 */
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { isMainThread } from 'node:worker_threads';

/** A name that the aggregator keeps in its environment when it starts itself again. */
export const socketVariable = 'NODE_LOOP_PROBE';

/** Since the last time that was asked. */
export interface LoopReport {
  maxMs: number;
  /** A call that comes at any moment waits no longer than this in 99 of 100 cases. */
  p99Ms: number;
  heapMb: number;
  /** Buffers and other memory outside of the heap. */
  externalMb: number;
}

const tickMs = 2;

export function startProbe(socket: string): void {
  let turns: number[] = [];
  let cpu = threadMs();
  let since = performance.now();
  setInterval(() => {
    const now = threadMs();
    turns.push(now - cpu);
    cpu = now;
  }, tickMs).unref();
  rmSync(socket, { force: true });
  createServer((asked) => {
    const { heapTotal, external, arrayBuffers } = process.memoryUsage();
    const megabytes = (bytes: number) => bytes / 2 ** 20;
    const report: LoopReport = {
      maxMs: Math.max(0, ...turns),
      p99Ms: waitOf(turns, performance.now() - since, 0.99),
      heapMb: megabytes(heapTotal),
      externalMb: megabytes(Math.max(external, arrayBuffers)),
    };
    turns = [];
    since = performance.now();
    asked.on('error', () => undefined).end(JSON.stringify(report));
  })
    .listen(socket)
    .unref();
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** What comes at a random moment of a turn waits for the rest of it. */
export function waitOf(turns: readonly number[], elapsedMs: number, share: number): number {
  const longest = Math.max(0, ...turns);
  let [from, to] = [0, longest];
  while (to - from > 0.1) {
    const middle = (from + to) / 2;
    const beyond = turns.reduce((sum, ms) => sum + Math.max(0, ms - middle), 0);
    if (beyond > elapsedMs * (1 - share)) from = middle;
    else to = middle;
  }
  return to;
}

const given = process.env[socketVariable];
if (isMainThread && given !== undefined) startProbe(given);
