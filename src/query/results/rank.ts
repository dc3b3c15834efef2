import { wordsOfItem } from '../../similarity/item-words.ts';
import { queryTerms } from '../question/terms.ts';
import type { RelevantItem } from './items.ts';
import { estimateTokens } from './tokens.ts';

/** A result and everyone who gave it; the item shown is the first of its cluster. */
export interface Candidate {
  item: RelevantItem;
  /** Every item of the cluster, the shown one first. */
  sources: readonly RelevantItem[];
}

export interface Ranked extends Candidate {
  /** 0 to 1, falling with the rank. */
  score: number;
  /** The item's content is shorter than the server gave it. */
  condensed?: true;
}

interface RankInput {
  query: string;
  candidates: readonly Candidate[];
  /** Similarity of each candidate to the query, −1 to 1, in the same order; absent where nothing embeds. */
  similarities?: readonly number[];
}

/** What each kind of evidence may contribute; what is absent gives its share to the words. */
const weights = { relevance: 0.68, words: 0.13, meaning: 0.09, agreement: 0.05, position: 0.05 };
/**
 * Each earlier result of the same page costs a result this share of its score, and so does each other answer of the same
 * server: what another server says is worth more than more of the same. Rows of one answer do not cost one another.
 */
const samePageFactor = 0.9;
const sameServerFactor = 0.95;

/**
 * Best first. Depends on nothing but its input: ties keep the order of server name, tool, position, so that the
 * order of the answers does not matter.
 */
export function rank(input: RankInput): Ranked[] {
  const words = wordScores(input);
  const scored = input.candidates.map((candidate, i) => {
    const meaning = input.similarities?.[i];
    const shareOfWords = meaning === undefined ? weights.words + weights.meaning : weights.words;
    const score =
      weights.relevance * candidate.item.relevance +
      shareOfWords * (words[i] ?? 0) +
      (meaning === undefined ? 0 : weights.meaning * Math.max(0, meaning)) +
      weights.agreement * agreement(candidate) +
      weights.position * position(candidate);
    return { ...candidate, score: clamp(score) };
  });
  return diversify(scored.toSorted(byScoreThenPlace));
}

/**
 * BM25 over the items themselves, as a share of what an item full of every term would get, so that scores of different
 * queries compare. A title names what an item is about and counts twice.
 */
function wordScores({ query, candidates }: RankInput): number[] {
  const terms = queryTerms(query);
  const uses = candidates.map(({ item }) => {
    const body = terms.countIn(item.content, wordsOfItem(item));
    const title = item.title === undefined ? undefined : terms.countIn(item.title);
    return { counts: body.map((count, t) => count + (title?.[t] ?? 0)), chars: item.content.length };
  });
  const averageChars = uses.reduce((sum, use) => sum + use.chars, 0) / Math.max(1, uses.length);
  const idf = Array.from({ length: terms.count }, (_, t) => {
    const having = uses.filter((use) => (use.counts[t] ?? 0) > 0).length;
    // Everything here was found for the query, so its terms are common here: the floor keeps them apart from nothing.
    return Math.log(1 + (uses.length - having + 0.5) / (having + 0.5)) + idfFloor;
  });
  const most = idf.reduce((sum, value) => sum + value * (saturation + 1), 0);
  return uses.map((use) => {
    const length = 1 - lengthShare + (lengthShare * use.chars) / Math.max(1, averageChars);
    let score = 0;
    let covered = 0;
    use.counts.forEach((count, t) => {
      if (count === 0) return;
      covered++;
      score += ((idf[t] ?? 0) * count * (saturation + 1)) / (count + saturation * length);
    });
    const coverage = terms.count === 0 ? 0 : covered / terms.count;
    return most === 0 ? 0 : (score / most) * (0.7 + 0.3 * coverage);
  });
}

const idfFloor = 0.5;
const saturation = 1.2;
const lengthShare = 0.6;

/** Two servers that say the same are better evidence than one; a third adds less. */
function agreement({ sources }: Candidate): number {
  const servers = new Set(sources.map((source) => source.server)).size;
  return 1 - 1 / servers;
}

/** The best place that any server gave it. */
function position({ sources }: Candidate): number {
  return 1 / (1 + Math.min(...sources.map((source) => source.position)) / 3);
}

/** Takes the best of what is left, again and again, each time at a discount for what its source already gave. */
function diversify(sorted: readonly Ranked[]): Ranked[] {
  const shown = new Map<string, Set<number>>();
  const pages = new Map<string, number>();
  const manyServers = new Set(sorted.map(({ item }) => item.server)).size > 1;
  const discounted = ({ item, score }: Ranked): number => {
    const answers = manyServers ? (shown.get(item.server) ?? new Set()) : new Set();
    const others = answers.size - (answers.has(item.answer ?? 0) ? 1 : 0);
    return (
      score * sameServerFactor ** Math.min(others, maxPenalties) * samePageFactor ** (pages.get(pageOf(item)) ?? 0)
    );
  };
  const left = [...sorted];
  const result: Ranked[] = [];
  while (left.length > 0 && result.length < maxRanked) {
    let best = 0;
    let bestScore = -1;
    for (const [i, candidate] of left.entries()) {
      // Sorted by undiscounted score: none after this one can do better.
      if (candidate.score <= bestScore) break;
      const score = discounted(candidate);
      if (score > bestScore) {
        best = i;
        bestScore = score;
      }
    }
    const [chosen] = left.splice(best, 1);
    if (chosen === undefined) break;
    result.push({ ...chosen, score: Number(bestScore.toFixed(4)) });
    const answers = shown.get(chosen.item.server) ?? new Set();
    shown.set(chosen.item.server, answers.add(chosen.item.answer ?? 0));
    pages.set(pageOf(chosen.item), (pages.get(pageOf(chosen.item)) ?? 0) + 1);
  }
  return result;
}

const maxPenalties = 4;

/** No call can ask for more. */
const maxRanked = 100;

function pageOf(item: RelevantItem): string {
  return `${item.server}\n${item.link ?? `${item.tool}\n${item.position}`}`;
}

function byScoreThenPlace(a: Ranked, b: Ranked): number {
  return (
    b.score - a.score ||
    compare(a.item.server, b.item.server) ||
    compare(a.item.tool, b.item.tool) ||
    a.item.position - b.item.position
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value));
}

/** What the fields around a result cost when it is sent. */
const tokensAroundResult = 40;

interface Budget {
  maxResults: number;
  maxTokens?: number;
}

/**
 * The first results that fit. One that does not is passed over for smaller ones after it; when not even one fits, the
 * best is cut down to the budget.
 */
export function withinBudget(ranked: readonly Ranked[], { maxResults, maxTokens }: Budget): Ranked[] {
  if (maxTokens === undefined) return ranked.slice(0, maxResults);
  const chosen: Ranked[] = [];
  let left = maxTokens;
  for (const candidate of ranked) {
    if (chosen.length === maxResults) break;
    const cost = estimateTokens(candidate.item.content) + tokensAroundResult;
    if (cost > left) continue;
    chosen.push(candidate);
    left -= cost;
  }
  const [best] = ranked;
  if (chosen.length > 0 || best === undefined) return chosen;
  const content = cutToTokens(best.item.content, maxTokens - tokensAroundResult);
  return [{ ...best, item: { ...best.item, content }, condensed: true }];
}

export function cutToTokens(text: string, tokens: number): string {
  let end = text.length;
  while (end > 0 && estimateTokens(text.slice(0, end)) > tokens - 1) end = Math.floor(end * 0.9);
  const space = text.lastIndexOf(' ', end);
  return `${text.slice(0, space > end / 2 ? space : end).trimEnd()}…`;
}
