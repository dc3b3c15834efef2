/**
 * Loaded into an aggregator before its own code (`node --import`): lets a test turn its clock and measure its memory.
 * SIGUSR2 reads an order from the file that CHAOS_CONTROL names and writes the answer beside it.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

const RealDate = Date;
let offsetMs = 0;

/** What a jump of the system's clock looks like from inside: the time of day is another, the monotonic clock goes on. */
class JumpingDate extends RealDate {
  constructor(...args: unknown[]) {
    if (args.length === 0) super(RealDate.now() + offsetMs);
    else super(...(args as [number]));
  }
  static override now(): number {
    return RealDate.now() + offsetMs;
  }
}
globalThis.Date = JumpingDate as DateConstructor;

process.on('SIGUSR2', () => {
  // Not before: the aggregator starts itself again to hide its environment, and has it back a little later.
  const file = process.env.CHAOS_CONTROL;
  if (file === undefined) return;
  const order = JSON.parse(readFileSync(file, 'utf8')) as { offsetMs?: number; measure?: true };
  if (order.offsetMs !== undefined) offsetMs = order.offsetMs;
  for (let round = 0; round < 3; round += 1) globalThis.gc?.();
  writeFileSync(`${file}.new`, JSON.stringify({ ...process.memoryUsage(), now: Date.now() }));
  renameSync(`${file}.new`, `${file}.answer`);
});
