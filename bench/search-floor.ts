/** The strongest plain BM25 that can be made for a set: the field and the parameters that do best on half of its requests. */
import { type Bm25Parameters, createPlainBm25, fields } from './plain-bm25.ts';
import { measure } from './search-measures.ts';
import type { Request, SetTool } from './search-sets.ts';

const saturations = [0.6, 1.2, 2];
const lengthPenalties = [0.2, 0.5, 0.75];
/** Enough to choose by; a large catalog is slow to search in plain lists. */
const maxTried = (tools: number) => (tools > 10_000 ? 150 : 400);

export interface Floor {
  name: string;
  search(query: string, limit: number): { id: number; score: number }[];
}

export function tuneFloor(tools: readonly SetTool[], requests: readonly Request[]): Floor {
  const every = Math.ceil(requests.length / maxTried(tools.length));
  const tried = requests.filter((_, place) => place % every === 0);
  let best: (Floor & { gain: number }) | undefined;
  for (const field of fields) {
    const bm25 = createPlainBm25(tools, field);
    const gainOf = (parameters: Bm25Parameters) =>
      measure(
        tried.map((request) => ({
          request,
          ranked: bm25.search(request.query, 10, parameters).map(({ id }) => id),
        })),
      ).ndcg10;
    for (const saturation of saturations) {
      for (const lengthPenalty of lengthPenalties) {
        const parameters = { saturation, lengthPenalty };
        const gain = gainOf(parameters);
        if (best !== undefined && gain <= best.gain) continue;
        const name = `${field.name}; k1 ${saturation}, b ${lengthPenalty}`;
        best = { gain, name, search: (query, limit) => bm25.search(query, limit, parameters) };
      }
    }
  }
  if (best === undefined) throw new RangeError('no request to tune by');
  return best;
}
