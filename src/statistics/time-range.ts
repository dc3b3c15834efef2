/** Which slots answer a question about a time range. Pure. */

/** How fine statistics are kept, and for how long. Each tier is a multiple of the one before. */
export const tiers = [
  { seconds: 10, keptSeconds: 2 * 3_600 },
  { seconds: 60, keptSeconds: 26 * 3_600 },
  { seconds: 900, keptSeconds: 35 * 86_400 },
] as const;
export type Tier = (typeof tiers)[number];

export const slotSeconds = tiers[0].seconds;
export const maxPoints = 1_000;
const wantedPoints = 120;
const steps = [10, 30, 60, 300, 900, 1_800, 3_600, 10_800, 21_600, 86_400];

export interface TimeRange {
  /** Seconds since 1970, where the first point begins; a multiple of `step`. */
  from: number;
  /** Where the last point ends. */
  to: number;
  step: number;
  tier: Tier;
}

/** Widened to whole steps; the step is at least that of the tier that still has the beginning. */
export function toTimeRange(wanted: { from: number; to: number; step?: number }, now: number): TimeRange {
  const span = Math.max(1, wanted.to - wanted.from);
  const asked = wanted.step ?? steps.find((step) => span / step <= wantedPoints) ?? 86_400;
  const tier = tierFor(wanted.from, asked, now);
  const step = Math.ceil(asked / tier.seconds) * tier.seconds;
  const from = Math.floor(wanted.from / step) * step;
  const to = Math.max(from + step, Math.ceil(wanted.to / step) * step);
  return { from, to, step, tier };
}

function tierFor(from: number, step: number, now: number): Tier {
  const keeping = tiers.filter(({ keptSeconds }) => from >= now - keptSeconds);
  const fitting = keeping.findLast(({ seconds }) => step % seconds === 0);
  return fitting ?? keeping[0] ?? tiers[2];
}
