import { rank } from './rank.ts';
import type { SearchIndex } from './search-index.ts';
import type { SearchableTool } from './tool.ts';

/** What makes tools hard to find, as `doctor search` reports it. */
export interface QualityReport {
  withoutDescription: SearchableTool[];
  /** Pairs of one server, or of several, whose texts are nearly the same. */
  indistinct: { a: SearchableTool; b: SearchableTool; similarity: number }[];
  /** Tools that are not among the first five for their own description. */
  notFound: { tool: SearchableTool; insteadOf: string | null }[];
  servers: ServerProbe[];
}

interface ServerProbe {
  server: string;
  tools: number;
  probes: number;
  /** Share of probes whose tool came first, and among the first five. */
  hitAt1: number;
  hitAt5: number;
}

const minDescription = 10;
const indistinctSimilarity = 0.97;
const maxPairs = 200;
const foundWithin = 5;

/**
 * The probe of a tool is the first sentence of its description without the words of its name: what is left to a person
 * who knows what the tool does but not what it is called. `embedText` must belong to the index's vectors.
 */
export function inspectQuality(index: SearchIndex, embedText: (text: string) => Float32Array): QualityReport {
  const tools = [...index.tools()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const withoutDescription = tools.filter(({ description }) => description.trim().length < minDescription);
  const servers = new Map<string, { tools: number; probes: number; first: number; found: number }>();
  const notFound: QualityReport['notFound'] = [];
  for (const tool of tools) {
    const counts = servers.get(tool.server) ?? { tools: 0, probes: 0, first: 0, found: 0 };
    servers.set(tool.server, counts);
    counts.tools++;
    const probe = toProbe(tool);
    if (probe === null) continue;
    const place = placeOf(index, tool, probe, embedText);
    counts.probes++;
    if (place.position === 0) counts.first++;
    if (place.position !== -1) counts.found++;
    else notFound.push({ tool, insteadOf: place.winner });
  }
  return {
    withoutDescription,
    indistinct: findIndistinct(index, tools),
    notFound,
    servers: [...servers].map(([server, { tools, probes, first, found }]) => ({
      server,
      tools,
      probes,
      hitAt1: probes === 0 ? 0 : first / probes,
      hitAt5: probes === 0 ? 0 : found / probes,
    })),
  };
}

function placeOf(
  index: SearchIndex,
  tool: SearchableTool,
  probe: string,
  embedText: (text: string) => Float32Array,
): { position: number; winner: string | null } {
  const plan = { whole: probe, meanings: [probe], parts: [] };
  // The tool's own server may be away at the moment; the question is whether its text would be found.
  const { tools } = rank(index, { query: probe, limit: foundWithin, strategy: 'direct' }, plan, [embedText(probe)]);
  return { position: tools.findIndex((found) => found.tool.id === tool.id), winner: tools[0]?.tool.name ?? null };
}

function toProbe(tool: SearchableTool): string | null {
  const [sentence = ''] = tool.description.trim().split(/(?<=[.!?])\s|\n/);
  const name = new Set(tool.originalName.toLowerCase().split(/[^\p{L}\p{N}]+/u));
  const rest = sentence.split(/\s+/).filter((word) => !name.has(word.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')));
  return rest.length < 3 ? null : rest.join(' ');
}

/** Only neighbours in the vector space can be nearly the same, so each tool is compared with what its own vector finds. */
function findIndistinct(index: SearchIndex, tools: SearchableTool[]): QualityReport['indistinct'] {
  const pairs: QualityReport['indistinct'] = [];
  const known = new Map(tools.map((tool) => [tool.id, tool]));
  for (const tool of tools) {
    const vector = index.vectorOf(tool.id);
    if (vector === undefined) continue;
    const scores = index.vectors.scan(vector);
    for (let slot = 0; slot < index.serverOfSlot.length; slot++) {
      const similarity = scores[slot] ?? 0;
      const other = similarity < indistinctSimilarity ? undefined : index.toolAt(slot);
      if (other === undefined || other.id <= tool.id || !known.has(other.id)) continue;
      pairs.push({ a: tool, b: other, similarity: Math.min(1, similarity) });
    }
  }
  return pairs.sort((a, b) => b.similarity - a.similarity || a.a.id - b.a.id || a.b.id - b.b.id).slice(0, maxPairs);
}
