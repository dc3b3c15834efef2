/**
 * The answers to the steps of one search, as one list: in turns, so that every step has its share, each tool once. A turn
 * that meets a tool of another step is used up by it: the tool serves both.
 */
interface StepRanking<Tool> {
  tool: Tool;
  score: number;
}

interface MergedTool<Found> {
  found: Found;
  /** Positions of the steps that it is for. */
  steps: number[];
}

export function mergeSteps<Tool, Found extends StepRanking<Tool>>(
  rankings: readonly (readonly Found[])[],
  limit: number,
): MergedTool<Found>[] {
  const merged = new Map<Tool, MergedTool<Found>>();
  const most = Math.max(limit, rankings.length);
  const deepest = Math.max(0, ...rankings.map((ranking) => ranking.length));
  // A tool that a step would not have been shown is not said to be for it.
  for (let turn = 0; turn < deepest && (turn === 0 || merged.size < most); turn++) {
    for (const [step, ranking] of rankings.entries()) {
      const found = ranking[turn];
      if (found === undefined) continue;
      const known = merged.get(found.tool);
      if (known === undefined) {
        if (merged.size < most) merged.set(found.tool, { found, steps: [step] });
        continue;
      }
      if (!known.steps.includes(step)) known.steps.push(step);
      if (found.score > known.found.score) known.found = found;
    }
  }
  for (const { steps } of merged.values()) steps.sort((a, b) => a - b);
  return [...merged.values()];
}
