import { type LexicalWeights, toLexicalQuery } from './lexical.ts';
import type { SearchIndex } from './search-index.ts';

/**
 * How well one tool answers one text, from what the two sides of the index say. Every input lies between 0 and 1 and
 * means the same in every request (the lexical score is divided by the most the request could reach), so one set of
 * weights serves keyword and conversational requests alike: a text whose words no tool knows has small lexical scores
 * everywhere, and the similarity decides by itself.
 *
 * The weights follow a softmax fit over tools and requests of the development sets, then moved by hand; docs/search.md.
 */
export interface Weights extends LexicalWeights {
  similarity: number;
  serverSimilarity: number;
  serverNamed: number;
}

export const fusedWeights: Weights = {
  similarity: 18.5,
  lexical: 8.5,
  covered: 9,
  named: 2.2,
  serverSimilarity: 2,
  // The similarity to the server's name has said it already.
  serverNamed: 0,
};

export const lexicalWeights: Weights = {
  similarity: 0,
  lexical: 22,
  covered: 9,
  named: 1,
  serverSimilarity: 0,
  serverNamed: 1,
};

export const vectorWeights: Weights = {
  similarity: 30,
  lexical: 0,
  covered: 0,
  named: 0,
  serverSimilarity: 0,
  serverNamed: 0,
};

/** Of a server, for all its tools: how near the request is to it, and how strongly it names it. */
interface ServerEvidence {
  similarity: Float32Array | null;
  named: Float32Array | null;
}

/** By slot. `similarity` is the cosine of the request's vector with every tool's. */
export function relevance(
  index: Pick<SearchIndex, 'lexical' | 'serverOfSlot'>,
  text: string,
  similarity: Float32Array | null,
  server: ServerEvidence,
  weights: Weights,
): Float32Array {
  const { lexical, serverOfSlot } = index;
  const scores = new Float32Array(lexical.capacity);
  lexical.score(toLexicalQuery(text), weights, scores);
  const { similarity: near, named } = server;
  for (let slot = 0; slot < serverOfSlot.length; slot++) {
    const number = serverOfSlot[slot] as number;
    if (number < 0) continue;
    let score = scores[slot] as number;
    if (similarity !== null) score += weights.similarity * (similarity[slot] ?? 0);
    if (near !== null) score += weights.serverSimilarity * (near[number] as number);
    if (named !== null) score += weights.serverNamed * (named[number] as number);
    scores[slot] = score;
  }
  return scores;
}

/** Relevance → 0 to 1. Set by hand so that 0.5 parts the development requests with an answer from those without. */
export interface Calibration {
  slope: number;
  middle: number;
}

export const fusedCalibration: Calibration = { slope: 0.35, middle: 10.2 };
export const lexicalCalibration: Calibration = { slope: 0.6, middle: 9.5 };
export const vectorCalibration: Calibration = { slope: 0.35, middle: 14 };

export function toProbability(relevance: number, { slope, middle }: Calibration): number {
  return 1 / (1 + Math.exp(-slope * (relevance - middle)));
}
