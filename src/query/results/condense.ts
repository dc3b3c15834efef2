import { similarities } from '../../similarity/cosine.ts';
import { queryTerms } from '../question/terms.ts';
import type { Item } from './items.ts';
import { type Passage, passagesOf } from './passages.ts';
import { cutToTokens, type Ranked } from './rank.ts';
import { estimateTokens } from './tokens.ts';

interface CondenseInput {
  query: string;
  /** In the order of their rank. */
  results: readonly Ranked[];
  embed?(texts: readonly string[]): Float32Array[] | Promise<Float32Array[]>;
}

/**
 * The first three are most likely the answer and stay nearly whole; the ninth may be a third of that. Thirty results
 * come to at most about 6,000 tokens.
 */
const firstTokens = 900;
const wholePlaces = 3;
const halvedAfter = 2;
const minTokens = 50;

function tokensFor(place: number): number {
  const beyond = Math.max(0, place - wholePlaces + 1);
  return Math.max(minTokens, Math.round(firstTokens / (1 + beyond / halvedAfter)));
}

/**
 * Shortens results that are longer than their rank is worth to the passages that matter for the query, in their order
 * and in their own words. What its own title and link say already is left out, what results above say counts less.
 */
export async function condense({ query, results, embed }: CondenseInput): Promise<Ranked[]> {
  const drafts = results.map((result, place) => toDraft(result, tokensFor(place)));
  const weights = await weigh(
    query,
    drafts.flatMap((draft) => (draft.isLong ? draft.passages : [])),
    embed,
  );
  const shown = new Map<string, number>();
  const note = ({ text }: Passage): unknown => shown.set(text, (shown.get(text) ?? 0) + 1);
  return drafts.map(({ result, passages, budget, isLong }) => {
    const chosen = isLong ? choose(passages, budget, weights, shown) : passages;
    chosen.forEach(note);
    if (!isLong || chosen.length === 0) return result;
    return { ...result, item: { ...result.item, content: join(chosen, budget) }, condensed: true };
  });
}

interface CondensedResult {
  result: Ranked;
  budget: number;
  isLong: boolean;
  passages: PlacedPassage[];
}

interface PlacedPassage extends Passage {
  place: number;
}

function toDraft(result: Ranked, budget: number): CondensedResult {
  const { item, condensed } = result;
  const isLong = condensed !== true && estimateTokens(item.content) > budget;
  const passages = passagesOf(item.content).map((passage, place) => ({ ...passage, place }));
  if (!isLong) return { result, budget, isLong, passages };
  const telling = passages.flatMap((passage) => {
    const lines = passage.text.split('\n').filter((line) => !isSaidAround(line, item) && !onlyPictures.test(line));
    return lines.length === 0 ? [] : [{ ...passage, text: lines.join('\n') }];
  });
  return { result, budget, isLong, passages: telling };
}

/** A heading that is the title, a line that only leads to the page. */
function isSaidAround(line: string, { title, link }: Item): boolean {
  if (title !== undefined && line.length <= title.length + maxLabel && line.includes(title)) return true;
  return link !== undefined && line.length <= link.length + maxLabel && line.includes(link);
}

/** Badges and banners. */
const onlyPictures = /^\s*(?:\[?!\[[^\]]*\]\([^)]*\)(?:\]\([^)]*\))?\s*)+$/;
/** "[source](…)", "## …", "Title: …". */
const maxLabel = 14;

interface Weight {
  /** By term of the query. */
  counts: Uint32Array;
  similarity: number;
}

interface PassageWeights {
  idf: number[];
  byPassage: ReadonlyMap<PlacedPassage, Weight>;
}

/** About a hundred results of five kilobytes; beyond, a result's beginning stands for it. */
const maxWeighed = 4_000;
const maxEmbedded = 400;
/** A page-long result has about a hundred; choosing compares them again and again. */
const maxPerResult = 1_000;

async function weigh(
  query: string,
  all: readonly PlacedPassage[],
  embed: CondenseInput['embed'],
): Promise<PassageWeights> {
  const passages = all.slice(0, maxWeighed);
  const terms = queryTerms(query);
  const uses = passages.map(({ text }) => terms.countIn(text));
  const idf = Array.from({ length: terms.count }, (_, term) => {
    const having = uses.filter((counts) => (counts[term] ?? 0) > 0).length;
    return Math.log(1 + (passages.length - having + 0.5) / (having + 0.5));
  });
  const texts = passages.slice(0, maxEmbedded).map(({ text }) => text);
  const vectors = texts.length === 0 ? undefined : await embed?.([query, ...texts]);
  const close = vectors === undefined ? [] : similarities(vectors);
  const byPassage = passages.map((passage, at): [PlacedPassage, Weight] => [
    passage,
    { counts: uses[at] ?? new Uint32Array(0), similarity: Math.max(0, close[at] ?? 0) },
  ]);
  return { idf, byPassage: new Map(byPassage) };
}

/** What so many results above say is no news. */
const timesOfBoilerplate = 3;
const wordShare = 0.6;
/** A passage that says so much less than the best one is padding. */
const minShare = 0.25;

/**
 * The best of what is left, again and again; a word of the query counts less each time it was said, a passage each time
 * it was shown. A result that says nothing about the query shows how it begins.
 */
function choose(
  passages: readonly PlacedPassage[],
  budget: number,
  weights: PassageWeights,
  shown: ReadonlyMap<string, number>,
): PlacedPassage[] {
  const { idf, byPassage } = weights;
  const most = idf.reduce((sum, value) => sum + value, 0);
  const said = idf.map(() => 0);
  const gainOf = (passage: PlacedPassage): number => {
    const weight = byPassage.get(passage);
    if (weight === undefined) return 0;
    let words = 0;
    for (let term = 0; term < idf.length; term++) {
      if ((weight.counts[term] ?? 0) > 0) words += (idf[term] ?? 0) / (1 + (said[term] ?? 0));
    }
    const gain = wordShare * (most === 0 ? 0 : words / most) + (1 - wordShare) * weight.similarity;
    const times = shown.get(passage.text) ?? 0;
    return times >= timesOfBoilerplate ? 0 : gain / (1 + times);
  };

  const left = new Set(passages.slice(0, maxPerResult));
  const chosen: PlacedPassage[] = [];
  let tokens = 0;
  let firstGain = 0;
  while (left.size > 0) {
    const { passage, gain } = bestOf(left, gainOf);
    const isPadding = gain === 0 || gain < minShare * firstGain;
    if (passage === undefined || (isPadding && tokens >= minTokens)) break;
    left.delete(passage);
    const cost = estimateTokens(passage.text);
    if (chosen.length > 0 && tokens + cost > budget) {
      if (isPadding) break;
      continue;
    }
    chosen.push(passage);
    tokens += cost;
    firstGain = Math.max(firstGain, gain);
    for (const [term, count] of (byPassage.get(passage)?.counts ?? []).entries()) {
      if (count > 0) said[term] = (said[term] ?? 0) + 1;
    }
  }
  return chosen.sort((a, b) => a.place - b.place);
}

function bestOf(passages: Iterable<PlacedPassage>, gainOf: (passage: PlacedPassage) => number) {
  let best: { passage?: PlacedPassage; gain: number } = { gain: -1 };
  for (const passage of passages) {
    const gain = gainOf(passage);
    if (gain > best.gain) best = { passage, gain };
  }
  return best;
}

/** With a mark where something was left out. One passage alone may be longer than all that there is room for. */
function join(passages: readonly PlacedPassage[], budget: number): string {
  let text = '';
  let next = 0;
  for (const { text: own, before, place } of passages) {
    const isGap = place > next;
    if (text !== '') text += isGap && before === ' ' ? ' … ' : isGap ? '\n… ' : before;
    text += own;
    next = place + 1;
  }
  return estimateTokens(text) > budget * 1.5 ? cutToTokens(text, budget) : text;
}
