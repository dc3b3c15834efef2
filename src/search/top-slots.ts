/**
 * The slots of the `count` highest values, best first; the lower slot wins a tie. `slots` ascend. Candidates gather in a
 * buffer of twice the count, which is cut back to the best when it is full: a value below the weakest of them is skipped.
 */
export function topSlots(values: Float32Array, slots: readonly number[], count: number): number[] {
  const kept: number[] = [];
  let weakest: number | undefined;
  for (const slot of slots) {
    if (weakest !== undefined && (values[slot] as number) <= weakest) continue;
    kept.push(slot);
    if (kept.length >= count * 2) weakest = shrink(values, kept, count);
  }
  shrink(values, kept, count);
  return kept;
}

/** The value at the end of the `count` best; undefined where there are fewer. */
function shrink(values: Float32Array, kept: number[], count: number): number | undefined {
  kept.sort((a, b) => (values[b] as number) - (values[a] as number) || a - b);
  kept.length = Math.min(kept.length, count);
  const last = kept.at(-1);
  return last === undefined || kept.length < count ? undefined : values[last];
}
