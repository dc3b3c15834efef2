/**
 * Which search a called tool was chosen from. It goes into the audit record of the call and nowhere else: nothing learns
 * from it, and it ends with the process.
 */

export interface Choice {
  query: string;
  /** The tool's place in what the search returned; the first is 1. */
  rank: number;
}

export interface Choices {
  /** `tools` are canonical names, the best first; tools that share a place do the same. */
  searched(chooser: string, query: string, tools: readonly (readonly string[])[]): void;
  /** Of the newest search of this chooser that returned the tool. */
  find(chooser: string | undefined, tool: string): Choice | undefined;
}

interface Search {
  at: number;
  query: string;
  ranks: ReadonlyMap<string, number>;
}

const memoryMs = 10 * 60_000;
const mostChoosers = 1_000;
const mostSearches = 4;
const longestQuery = 1_000;

/** `mask` hides secrets before the query is cut: half of one could not be recognised later. */
export function createChoices(mask: (text: string) => string, now = () => performance.now()): Choices {
  /** The one that searched last is the last. */
  const byChooser = new Map<string, Search[]>();

  return {
    searched(chooser, query, tools) {
      if (tools.length === 0) return;
      const ranks = new Map(tools.flatMap((names, place) => names.map((name) => [name, place + 1])));
      const search = { at: now(), query: mask(query).slice(0, longestQuery), ranks };
      const searches = [search, ...(byChooser.get(chooser) ?? [])].slice(0, mostSearches);
      byChooser.delete(chooser);
      byChooser.set(chooser, searches);
      for (const [oldest, [latest]] of byChooser) {
        const isOver = latest === undefined || now() - latest.at > memoryMs;
        if (!isOver && byChooser.size <= mostChoosers) break;
        byChooser.delete(oldest);
      }
    },
    find(chooser, tool) {
      if (byChooser.size === 0 || chooser === undefined) return undefined;
      const search = byChooser.get(chooser)?.find(({ ranks }) => ranks.has(tool));
      const rank = search?.ranks.get(tool);
      if (search === undefined || rank === undefined || now() - search.at > memoryMs) return undefined;
      return { query: search.query, rank };
    },
  };
}
