/** From evidence to an ordered list, for one text. */
import { dot } from '../similarity/cosine.ts';
import { coverParts, type PartCandidate, type PlacedTool } from './cover.ts';
import { toLexicalQuery } from './lexical.ts';
import { findProviders, saysIdentifier } from './providers.ts';
import { createRefinement, type ToolTraits } from './refine.ts';
import {
  type Calibration,
  fusedCalibration,
  fusedWeights,
  lexicalCalibration,
  lexicalWeights,
  relevance,
  toProbability,
  vectorCalibration,
  vectorWeights,
  type Weights,
} from './relevance.ts';
import type { RequestPlan } from './request.ts';
import { selectScope } from './scope.ts';
import type { SearchIndex } from './search-index.ts';
import {
  defaults,
  type FoundTool,
  type MatchedSkill,
  maxSkills,
  type SearchRequest,
  type SearchResult,
  type SearchStrategy,
  type UsedStrategy,
} from './search-result.ts';
import type { SearchableTool } from './tool.ts';
import { topSlots } from './top-slots.ts';

const widestPool = 60;
const widestPartPool = 20;
/** So many of the best for the whole are looked at for each part too. */
const sharedPool = 20;
const maxConsumers = 5;
/** How much less relevant a tool is that another one depends on. */
const providerDistance = 0.5;
const skillLift = 0.6;
const twinSimilarity = 0.88;

/** The pure part: everything is known, nothing waits. `vectors` belong to the whole and then to each part. */
export function rank(
  index: SearchIndex,
  request: SearchRequest,
  plan: RequestPlan,
  vectors: Float32Array[] | null,
  similarities?: Float32Array[] | null,
): SearchResult {
  const strategyUsed = chooseStrategy(request.strategy ?? 'auto', index, vectors);
  const { weights, calibration, isRefined } = methods[strategyUsed];
  const limit = request.limit ?? defaults.limit;
  index.scratch.release();
  const scope = selectScope(index, request);
  const wholeVector = vectors?.[0];
  const matchedSkills =
    strategyUsed === 'hierarchical' && wholeVector !== undefined
      ? matchSkills(index, wholeVector, request.skillThreshold ?? defaults.skillThreshold)
      : [];
  // The platform is named once and meant in every part.
  const server = serverEvidence(index, plan.whole, weights);
  const ofServer = weighServers(server, weights);
  const scanned = plan.meanings.map((_, position) => {
    const vector = vectors?.[position];
    if (vector === undefined || weights.similarity === 0) return null;
    return similarities?.[position] ?? index.vectors.scan(vector, index.scratch.take(index.vectors.capacity));
  });
  const [whole = new Float32Array(0), ...parts] = plan.meanings.map((text, position) =>
    relevance(index, text, scanned[position] ?? null, ofServer, weights),
  );
  const best = topSlots(whole, scope.slots, Math.max(limit, widestPool));
  const ofParts = parts.map((values) => topSlots(values, scope.slots, widestPartPool));
  const slots = [...new Set([...best, ...ofParts.flat()])];
  const looked = plan.meanings.map((text, position) => {
    const values = position === 0 ? whole : (parts[position - 1] as Float32Array);
    if (!isRefined) return slots.map((slot) => values[slot] ?? 0);
    const seen =
      position === 0 ? slots : [...new Set([...(ofParts[position - 1] ?? []), ...best.slice(0, sharedPool)])];
    const hasSteps = position === 0 && plan.parts.length > 0;
    const close = refine(index, text, seen, scanned[position] ?? null, server.similarity, hasSteps);
    const bySlot = new Map(seen.map((slot, place) => [slot, close[place] as number]));
    // A tool that is not looked at is at most as near as the last one that is.
    const least = Math.min(...close);
    return slots.map((slot) => bySlot.get(slot) ?? least);
  });
  const strength = new Map(matchedSkills.map(({ id, score }) => [id, score]));
  const candidates = slots.map((slot, place): PartCandidate => {
    const lift = skillLiftOf(index.toolAt(slot), strength);
    const [ofWhole = 0, ...others] = looked.map((values) => (values[place] as number) + lift);
    return { slot, whole: ofWhole, parts: others };
  });
  if (isRefined && !saysIdentifier(plan.whole)) addProviders(index, candidates, scope.slots);
  candidates.sort((a, b) => b.whole - a.whole || compareNames(index, a.slot, b.slot));
  const placed = coverParts(candidates, limit, (a, b) => areTwins(index, a, b));
  const tools = placed
    .map((place) => toFound(index, request, place, calibration, plan, wholeVector, matchedSkills))
    .filter(({ score }) => score >= (request.toolThreshold ?? defaults.toolThreshold));
  return {
    tools,
    matchedSkills,
    metadata: {
      strategyUsed,
      serversSearched: scope.servers,
      toolsSearched: scope.slots.length,
      externalToolsCount: scope.external,
      parts: plan.parts,
      embeddingModel: strategyUsed === 'lexical' ? null : index.embedder.identity,
      warnings: [],
      totalTimeMs: 0,
    },
  };
}

const methods: Record<UsedStrategy, { weights: Weights; calibration: Calibration; isRefined: boolean }> = {
  hierarchical: { weights: fusedWeights, calibration: fusedCalibration, isRefined: true },
  direct: { weights: fusedWeights, calibration: fusedCalibration, isRefined: true },
  lexical: { weights: lexicalWeights, calibration: lexicalCalibration, isRefined: false },
  vector: { weights: vectorWeights, calibration: vectorCalibration, isRefined: false },
};

function serverEvidence(index: SearchIndex, text: string, weights: Weights) {
  const similarity = weights.serverSimilarity === 0 ? null : index.serverSimilarity(text);
  if (weights.serverNamed === 0) return { similarity, named: null };
  const named = new Float32Array(index.serverNames.length);
  for (const [name, strength] of index.lexical.serversNamed(toLexicalQuery(text)))
    named[index.serverNumbers.get(name) ?? -1] = strength;
  return { similarity, named };
}

function weighServers({ similarity, named }: ReturnType<typeof serverEvidence>, weights: Weights): Float32Array | null {
  if (similarity === null && named === null) return null;
  const weighted = new Float32Array(Math.max(similarity?.length ?? 0, named?.length ?? 0));
  for (let number = 0; number < weighted.length; number++) {
    const near = weights.serverSimilarity * (similarity?.[number] ?? 0);
    weighted[number] = near + weights.serverNamed * (named?.[number] ?? 0);
  }
  return weighted;
}

/** The relevance of these tools to a text, looked at more closely. */
function refine(
  index: SearchIndex,
  text: string,
  slots: readonly number[],
  similarity: Float32Array | null,
  serverSimilarity: Float32Array | null,
  hasSteps: boolean,
): number[] {
  const traits = slots.map((slot) => index.traitsAt(slot) as ToolTraits);
  const { serverOfSlot } = index;
  const { tokensOf, matcher } = index.tokens;
  const query = toLexicalQuery(text);
  const { tools, servers } = index.lexical.coverage(query, serverOfSlot, index.serverNames.length, index.scratch);
  const refinement = createRefinement({ text, tokens: tokensOf(text), hasSteps }, traits, matcher);
  return slots.map((slot, place) => {
    const server = serverOfSlot[slot] as number;
    return refinement.relevance(traits[place] as ToolTraits, {
      similarity: similarity?.[slot] ?? 0,
      covered: tools[slot] ?? 0,
      serverSimilarity: serverSimilarity?.[server] ?? 0,
      serverCovered: servers[server] ?? 0,
    });
  });
}

/** Tools that the best candidates depend on come right after them. */
function addProviders(index: SearchIndex, candidates: PartCandidate[], slots: readonly number[]): void {
  const best = candidates.toSorted((a, b) => b.whole - a.whole || compareNames(index, a.slot, b.slot));
  const consumers = best.slice(0, maxConsumers);
  const { serverOfSlot } = index;
  const providers = findProviders(
    consumers.map(({ slot, whole }) => ({ tool: toolAt(index, slot), relevance: whole })),
    (server) => {
      const number = index.serverNumbers.get(server);
      return slots.filter((slot) => serverOfSlot[slot] === number).map((slot) => toolAt(index, slot));
    },
  );
  for (const { tool, relevance } of providers) {
    const slot = index.slotOf(tool.id) as number;
    const value = relevance - providerDistance;
    const known = candidates.find((candidate) => candidate.slot === slot);
    if (known !== undefined) known.whole = Math.max(known.whole, value);
    else candidates.push({ slot, whole: value, parts: best[0]?.parts.map(() => value) ?? [] });
  }
}

function chooseStrategy(
  wanted: SearchStrategy | 'vector',
  index: SearchIndex,
  vectors: Float32Array[] | null,
): UsedStrategy {
  if (vectors === null) return 'lexical';
  if (wanted !== 'auto') return wanted;
  return index.skills.length > 0 ? 'hierarchical' : 'direct';
}

/** A skill's similarity lies in a narrower band than a tool's: it is a mean over many. */
const skillCalibration: Calibration = { slope: 14, middle: 0.42 };

function matchSkills(index: SearchIndex, request: Float32Array, threshold: number): MatchedSkill[] {
  return index.skills
    .map(({ id, name, vector }) => ({ id, name, score: toProbability(dot(vector, request), skillCalibration) }))
    .filter(({ score }) => score >= threshold)
    .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
    .slice(0, maxSkills);
}

/** A prior, not a gate: a tool outside the matched skills loses nothing. */
function skillLiftOf(tool: SearchableTool | undefined, strength: Map<string, number>): number {
  let lift = 0;
  for (const id of tool?.skillIds ?? []) lift = Math.max(lift, strength.get(id) ?? 0);
  return skillLift * lift;
}

function compareNames(index: SearchIndex, a: number, b: number): number {
  const left = index.toolAt(a)?.name ?? '';
  const right = index.toolAt(b)?.name ?? '';
  return left < right ? -1 : left > right ? 1 : a - b;
}

function areTwins(index: SearchIndex, a: number, b: number): boolean {
  return index.serverOfSlot[a] !== index.serverOfSlot[b] && index.vectors.similarity(a, b) >= twinSimilarity;
}

function toFound(
  index: SearchIndex,
  request: SearchRequest,
  place: PlacedTool,
  calibration: Calibration,
  plan: RequestPlan,
  vector: Float32Array | undefined,
  matchedSkills: MatchedSkill[],
): FoundTool {
  const tool = toolAt(index, place.slot);
  const found: FoundTool = { tool, score: toProbability(place.relevance, calibration) };
  if (place.twins.length > 0) found.alternatives = place.twins.map((slot) => toolAt(index, slot));
  if (request.includeReasons === true) {
    found.reasons = {
      matchedWords: index.lexical.explain(toLexicalQuery(plan.whole), tool),
      similarity:
        vector === undefined || !index.vectors.has(place.slot) ? null : dot(index.vectors.get(place.slot), vector),
      skills: matchedSkills.filter(({ id }) => tool.skillIds.includes(id)).map(({ id }) => id),
    };
  }
  return found;
}

function toolAt(index: SearchIndex, slot: number): SearchableTool {
  const tool = index.toolAt(slot);
  if (tool === undefined) throw new RangeError(`slot ${slot} holds no tool`);
  return tool;
}
