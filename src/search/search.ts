import { describe } from '../errors.ts';
import { mergeSteps } from './merge-steps.ts';
import { rank } from './rank.ts';
import { planRequest, type RequestPlan } from './request.ts';
import type { SearchIndex } from './search-index.ts';
import {
  defaults,
  type FoundTool,
  type MatchedSkill,
  maxSkills,
  type SearchRequest,
  type SearchResult,
  type SearchStrategy,
} from './search-result.ts';
import type { SearchableTool } from './tool.ts';

const remotePoints = 500;

/** Vectors kept elsewhere (Qdrant): the nearest tools of a vector, best first. */
export type RemoteScan = (
  vector: Float32Array,
  limit: number,
  signal?: AbortSignal,
) => Promise<{ id: number; score: number }[]>;

export async function search(
  index: SearchIndex,
  request: SearchRequest,
  signal?: AbortSignal,
  remote?: RemoteScan,
): Promise<SearchResult> {
  const began = performance.now();
  const { query, queries = [], strategy = 'auto' } = request;
  const texts = query === undefined ? queries : [...queries, query];
  const plans = texts.map((text) => planRequest(text, index.isAction));
  const embedded = await embedPlans(index, plans, strategy, signal);
  const scanned = await scanRemotely(index, embedded.vectors?.flat() ?? null, remote, signal);
  const similarities = scanned.similarities === null ? null : divide(scanned.similarities, embedded.vectors ?? []);
  const answers = plans.map((plan, place) =>
    rank(index, request, plan, embedded.vectors?.[place] ?? null, similarities?.[place]),
  );
  const found = request.queries === undefined ? (answers[0] as SearchResult) : mergeAnswers(request, queries, answers);
  return {
    ...found,
    metadata: {
      ...found.metadata,
      warnings: [...embedded.warnings, ...scanned.warnings],
      totalTimeMs: performance.now() - began,
    },
  };
}

/** FIND-001: the answers to `queries`, and to the whole task behind them if there is one. */
function mergeAnswers({ limit }: SearchRequest, queries: string[], answers: SearchResult[]): SearchResult {
  const [first] = answers as [SearchResult];
  const merged = mergeSteps<SearchableTool, FoundTool>(
    answers.map(({ tools }) => tools),
    limit ?? defaults.limit,
  );
  const tools = merged.map(({ found, steps }) => ({ ...found, steps: steps.filter((step) => step < queries.length) }));
  const skills = new Map<string, MatchedSkill>();
  for (const skill of answers.flatMap(({ matchedSkills }) => matchedSkills)) {
    const known = skills.get(skill.id);
    if (known === undefined || known.score < skill.score) skills.set(skill.id, skill);
  }
  const stepsOf = new Map(tools.map(({ tool, steps }) => [tool, steps]));
  return {
    tools,
    steps: queries.map((query, step) => ({
      query,
      tools: (answers[step]?.tools ?? []).map(({ tool }) => tool).filter((tool) => stepsOf.get(tool)?.includes(step)),
    })),
    matchedSkills: [...skills.values()].sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1)).slice(0, maxSkills),
    metadata: { ...first.metadata, parts: [] },
  };
}

/** The in-process vectors stay the fallback of a vector store that fails. */
async function scanRemotely(
  index: SearchIndex,
  vectors: Float32Array[] | null,
  remote: RemoteScan | undefined,
  signal?: AbortSignal,
): Promise<{ similarities: Float32Array[] | null; warnings: string[] }> {
  if (vectors === null || remote === undefined) return { similarities: null, warnings: [] };
  try {
    const answers = await Promise.all(vectors.map((vector) => remote(vector, remotePoints, signal)));
    return { similarities: answers.map((points) => toSimilarities(index, points)), warnings: [] };
  } catch (thrown) {
    signal?.throwIfAborted();
    return { similarities: null, warnings: [`vector store unavailable, built-in index used: ${describe(thrown)}`] };
  }
}

/** Tools beyond the answer's end are at most as similar as its last one. */
function toSimilarities(index: SearchIndex, points: { id: number; score: number }[]): Float32Array {
  const similarities = new Float32Array(index.serverOfSlot.length).fill(points.at(-1)?.score ?? 0);
  for (const { id, score } of points) {
    const slot = index.slotOf(id);
    if (slot !== undefined) similarities[slot] = score;
  }
  return similarities;
}

/** For each plan the vectors of its whole and of its parts. A service that fails costs the similarity, never the answer. */
async function embedPlans(
  index: SearchIndex,
  plans: RequestPlan[],
  strategy: SearchStrategy | 'vector',
  signal?: AbortSignal,
): Promise<{ vectors: Float32Array[][] | null; warnings: string[] }> {
  if (strategy === 'lexical') return { vectors: null, warnings: [] };
  const texts = plans.map(({ meanings }) => meanings);
  try {
    const vectors = await index.embedder.embed(texts.flat(), signal);
    return { vectors: divide(vectors, texts), warnings: [] };
  } catch (thrown) {
    signal?.throwIfAborted();
    return { vectors: null, warnings: [`embeddings unavailable, lexical search only: ${describe(thrown)}`] };
  }
}

/** One list into as many, as long as `shapes` are. */
function divide<Item>(items: readonly Item[], shapes: readonly { length: number }[]): Item[][] {
  const left = [...items];
  return shapes.map(({ length }) => left.splice(0, length));
}
