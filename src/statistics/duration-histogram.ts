/** Durations in buckets whose width grows by an eighth of a power of two, so that a quantile is off by 4.5 % at most. */
const stepsPerDoubling = 8;
const smallestMs = 0.05;
/** Longer ones are counted in the last bucket: beyond an hour. */
export const bucketCount = 210;

const origin = Math.log2(smallestMs) * stepsPerDoubling;

export function bucketOf(ms: number): number {
  if (!(ms > smallestMs)) return 0;
  return Math.min(bucketCount - 1, Math.ceil(Math.log2(ms) * stepsPerDoubling - origin));
}

/** The middle of the bucket, on the scale that the buckets are even on. */
function middleOf(bucket: number): number {
  return 2 ** ((bucket - 0.5 + origin) / stepsPerDoubling);
}

/** Undefined without any value. */
export function quantile(counts: ArrayLike<number>, share: number): number | undefined {
  let total = 0;
  for (let bucket = 0; bucket < counts.length; bucket += 1) total += counts[bucket] ?? 0;
  if (total === 0) return undefined;
  const rank = Math.max(1, Math.ceil(share * total));
  let seen = 0;
  for (let bucket = 0; bucket < counts.length; bucket += 1) {
    seen += counts[bucket] ?? 0;
    if (seen >= rank) return middleOf(bucket);
  }
  return undefined;
}
