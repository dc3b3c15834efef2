/**
 * Which search a called tool was chosen from. It goes into the audit record of the call and nowhere else: nothing learns
 * from it, and it ends with the process.
 */

interface Choice {
  query: string;
  /** The tool's place in what the search returned; the first is 1. */
  rank: number;
}

export interface SearchAttribution {
  /** `tools` are canonical names, the best first; tools that share a place do the same. */
  searched(searcher: string, query: string, tools: readonly (readonly string[])[]): void;
  /** Of the newest search of this searcher that returned the tool. */
  find(searcher: string | undefined, tool: string): Choice | undefined;
}

interface Search {
  at: number;
  query: string;
  ranks: ReadonlyMap<string, number>;
}

const memoryMs = 10 * 60_000;
const maxSearchers = 1_000;
const maxSearches = 4;
const maxQuery = 1_000;

/** `mask` hides secrets before the query is cut: half of one could not be recognised later. */
export function createSearchAttribution(
  mask: (text: string) => string,
  now = () => performance.now(),
): SearchAttribution {
  /** The one that searched last is the last. */
  const bySearcher = new Map<string, Search[]>();

  return {
    searched(searcher, query, tools) {
      if (tools.length === 0) return;
      const ranks = new Map(tools.flatMap((names, place) => names.map((name) => [name, place + 1])));
      const search = { at: now(), query: mask(query).slice(0, maxQuery), ranks };
      const searches = [search, ...(bySearcher.get(searcher) ?? [])].slice(0, maxSearches);
      bySearcher.delete(searcher);
      bySearcher.set(searcher, searches);
      for (const [oldest, [latest]] of bySearcher) {
        const isOver = latest === undefined || now() - latest.at > memoryMs;
        if (!isOver && bySearcher.size <= maxSearchers) break;
        bySearcher.delete(oldest);
      }
    },
    find(searcher, tool) {
      if (bySearcher.size === 0 || searcher === undefined) return undefined;
      const search = bySearcher.get(searcher)?.find(({ ranks }) => ranks.has(tool));
      const rank = search?.ranks.get(tool);
      if (search === undefined || rank === undefined || now() - search.at > memoryMs) return undefined;
      return { query: search.query, rank };
    },
  };
}
