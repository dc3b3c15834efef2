/** A tool in the running: how well it answers the whole request, and each part of it. */
export interface PartCandidate {
  slot: number;
  whole: number;
  parts: number[];
}

export interface PlacedTool {
  slot: number;
  relevance: number;
  /** Tools of other servers that do the same; they take no place of their own. */
  twins: number[];
}

/** How much a tool loses for each tool its part already has in the list. */
const repetition = 0.5;
/** What a tool's best part counts beside the whole. */
const partShare = 0.3;

/**
 * Orders candidates so that every part of the request gets its tools: the best candidate first, and each further tool
 * for a part that already has one steps back a little. Without parts it is the plain order. Ties go to the lower slot.
 */
export function coverParts(
  candidates: PartCandidate[],
  limit: number,
  areTwins: (a: number, b: number) => boolean,
): PlacedTool[] {
  const open = candidates.map((candidate) => toContender(candidate));
  const served = new Map<number, number>();
  const placed: PlacedTool[] = [];
  while (open.length > 0 && placed.length < limit) {
    let best = 0;
    let bestValue = Number.NEGATIVE_INFINITY;
    for (const [position, contender] of open.entries()) {
      const value = contender.relevance - repetition * (contender.part < 0 ? 0 : (served.get(contender.part) ?? 0));
      if (value > bestValue) {
        best = position;
        bestValue = value;
      }
    }
    const [chosen] = open.splice(best, 1);
    if (chosen === undefined) break;
    const twin = chosen.part < 0 ? undefined : placed.find((earlier) => areTwins(earlier.slot, chosen.slot));
    if (twin !== undefined) {
      twin.twins.push(chosen.slot);
      continue;
    }
    served.set(chosen.part, (served.get(chosen.part) ?? 0) + 1);
    placed.push({ slot: chosen.slot, relevance: chosen.relevance, twins: [] });
  }
  return placed;
}

function toContender({ slot, whole, parts }: PartCandidate): { slot: number; relevance: number; part: number } {
  let part = -1;
  let best = Number.NEGATIVE_INFINITY;
  for (const [index, value] of parts.entries()) {
    if (value > best) {
      best = value;
      part = index;
    }
  }
  return { slot, part, relevance: part < 0 ? whole : (1 - partShare) * whole + partShare * best };
}
