/** A tool in the running: how well it answers the whole request, and each part of it. */
export interface PartCandidate {
  slot: number;
  whole: number;
  parts: number[];
}

export interface PlacedTool {
  slot: number;
  /** To the whole request or to one of its parts, whichever it answers better. */
  relevance: number;
  /** Tools of other servers that do the same; they take no place of their own. */
  twins: number[];
}

interface Contender {
  slot: number;
  relevance: number;
  /** For each part, or for the whole where there are none. */
  claims: number[];
}

/** How much a tool loses for each tool its part already has in the list. */
const repetition = 0.5;

/** How much less a part's relevance says than that of a request of its own: fewer words agree more easily. */
const brevity = 1;

/** What a part counts beside the whole, which says the less of each of its parts the more it has. */
const toPartShare = (parts: number): number => Math.min(0.5, 0.1 + 0.1 * parts);

/**
 * Orders candidates so that every part of the request gets its tools: the best candidate first, and each further tool
 * for a part that already has one steps back a little. Without parts it is the plain order. Ties go to the lower slot.
 */
export function coverParts(
  candidates: PartCandidate[],
  limit: number,
  areTwins: (a: number, b: number) => boolean,
): PlacedTool[] {
  const open = candidates.map(toContender);
  const hasParts = candidates.some(({ parts }) => parts.length > 0);
  /** By part: what its next tool loses. */
  const losses = new Array<number>(Math.max(1, candidates[0]?.parts.length ?? 0)).fill(0);
  const placed: PlacedTool[] = [];
  while (open.length > 0 && placed.length < limit) {
    let best = { position: 0, part: 0, value: Number.NEGATIVE_INFINITY };
    for (const [position, { claims }] of open.entries()) {
      const claim = bestClaim(claims, losses);
      if (claim.value > best.value) best = { position, ...claim };
    }
    const [chosen] = open.splice(best.position, 1);
    if (chosen === undefined) break;
    const twin = hasParts ? placed.find((earlier) => areTwins(earlier.slot, chosen.slot)) : undefined;
    if (twin !== undefined) {
      twin.twins.push(chosen.slot);
      continue;
    }
    if (hasParts) losses[best.part] = (losses[best.part] as number) + repetition;
    placed.push({ slot: chosen.slot, relevance: chosen.relevance, twins: [] });
  }
  return placed;
}

function toContender({ slot, whole, parts }: PartCandidate): Contender {
  const share = toPartShare(parts.length);
  const claims = parts.length === 0 ? [whole] : parts.map((part) => (1 - share) * whole + share * part);
  return { slot, relevance: Math.max(whole, ...parts.map((part) => part - brevity)), claims };
}

/** The part that a tool serves best as the list stands. */
function bestClaim(claims: readonly number[], losses: readonly number[]): { part: number; value: number } {
  let best = { part: 0, value: Number.NEGATIVE_INFINITY };
  for (const [part, claim] of claims.entries()) {
    const value = claim - (losses[part] as number);
    if (value > best.value) best = { part, value };
  }
  return best;
}
