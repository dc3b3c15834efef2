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

/**
 * By slot. `similarity` is the cosine of the request's vector with every tool's; `ofServer` is what a server adds to all
 * its tools, by its number.
 */
export function relevance(
  index: Pick<SearchIndex, 'lexical' | 'scratch' | 'serverOfSlot'>,
  text: string,
  similarity: Float32Array | null,
  ofServer: Float32Array | null,
  weights: Weights,
): Float32Array {
  const { lexical, scratch, serverOfSlot } = index;
  const scores = scratch.take(lexical.capacity);
  lexical.score(toLexicalQuery(text), weights, scores);
  // One plain loop for each kind of evidence: every tool passes through here for every part of a request.
  if (similarity !== null) {
    const count = Math.min(similarity.length, serverOfSlot.length);
    for (let slot = 0; slot < count; slot++)
      scores[slot] = (scores[slot] as number) + weights.similarity * (similarity[slot] as number);
  }
  if (ofServer !== null) {
    for (let slot = 0; slot < serverOfSlot.length; slot++) {
      const number = serverOfSlot[slot] as number;
      if (number >= 0) scores[slot] = (scores[slot] as number) + (ofServer[number] as number);
    }
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
