/**
 * How well one tool answers one text, from what the two sides of the index say. Every input lies between 0 and 1 and
 * means the same in every request (the lexical score is divided by the most the request could reach), so one set of
 * weights serves keyword and conversational requests alike: a text whose words no tool knows has small lexical scores
 * everywhere, and the similarity decides by itself.
 *
 * The weights follow a softmax fit over tools and requests of the development sets, then moved by hand; docs/search.md.
 */
interface Evidence {
  similarity: Float32Array | null;
  lexical: Float32Array;
  covered: Float32Array;
  named: Float32Array;
  /** By server number: how near the request is to the server's name. */
  serverSimilarity: Float32Array | null;
  /** By slot: how strongly the request names the server. */
  serverNamed: Float32Array;
}

export interface Weights {
  similarity: number;
  lexical: number;
  covered: number;
  named: number;
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

export function relevance(evidence: Evidence, weights: Weights, serverOfSlot: Int32Array): Float32Array {
  const { similarity, lexical, covered, named, serverSimilarity, serverNamed } = evidence;
  const scores = new Float32Array(serverOfSlot.length);
  for (let slot = 0; slot < scores.length; slot++) {
    const server = serverOfSlot[slot] as number;
    if (server < 0) continue;
    scores[slot] =
      weights.lexical * (lexical[slot] ?? 0) +
      weights.covered * (covered[slot] ?? 0) +
      weights.named * (named[slot] ?? 0) +
      weights.serverNamed * (serverNamed[slot] ?? 0) +
      weights.similarity * (similarity?.[slot] ?? 0) +
      weights.serverSimilarity * (serverSimilarity?.[server] ?? 0);
  }
  return scores;
}

/** Relevance → 0 to 1. Set by hand so that 0.5 parts the development requests with an answer from those without. */
export interface Calibration {
  slope: number;
  middle: number;
}

export const fusedCalibration: Calibration = { slope: 0.45, middle: 15.5 };
export const lexicalCalibration: Calibration = { slope: 0.6, middle: 9.5 };
export const vectorCalibration: Calibration = { slope: 0.35, middle: 14 };

export function toProbability(relevance: number, { slope, middle }: Calibration): number {
  return 1 / (1 + Math.exp(-slope * (relevance - middle)));
}
