/** From scores to confidences, fitted to what was right; and the confidence from which on enough is right. */
import { type ClassifierCalibration, toConfidence } from '../../src/skills/trained-classifier.ts';

export interface Outcome {
  scores: number[];
  isRight: boolean;
}

const rounds = 15;
const ridge = 1e-6;
/** Fewer would be luck. */
const fewest = 12;

export function calibrate(outcomes: readonly Outcome[], precision: number): ClassifierCalibration {
  const fitted = fitLogistic(outcomes);
  const ranked = outcomes
    .map(({ scores, isRight }) => ({ confidence: toConfidence(fitted, ...scores), isRight }))
    .sort((a, b) => b.confidence - a.confidence);
  let right = 0;
  let min = 1;
  for (const [at, { confidence, isRight }] of ranked.entries()) {
    right += isRight ? 1 : 0;
    if (at + 1 >= fewest && right / (at + 1) >= precision) min = confidence;
  }
  return { ...fitted, min: Math.max(0.5, min) };
}

/** By Newton's method. */
function fitLogistic(outcomes: readonly Outcome[]): ClassifierCalibration {
  const rows = outcomes.map(({ scores, isRight }) => ({ values: [1, ...scores], isRight: isRight ? 1 : 0 }));
  const size = (outcomes[0]?.scores.length ?? 0) + 1;
  let weights = Array.from({ length: size }, () => 0);
  for (let round = 0; round < rounds; round++) {
    const [bias = 0, ...slopes] = weights;
    // One row of the linear system per weight; the last column is the right side.
    const system = weights.map((_, at) => weights.map((_, other) => (at === other ? ridge : 0)).concat(0));
    for (const { values, isRight } of rows) {
      const chance = toConfidence({ slopes, bias, min: 0 }, ...values.slice(1));
      for (const [at, value] of values.entries()) {
        const row = system[at] as number[];
        for (const [other, factor] of values.entries())
          row[other] = (row[other] as number) + value * factor * chance * (1 - chance);
        row[size] = (row[size] as number) + value * (isRight - chance);
      }
    }
    const change = solve(system);
    weights = weights.map((weight, at) => weight + (change[at] as number));
  }
  const [bias = 0, ...slopes] = weights;
  return { slopes, bias, min: 0 };
}

/** Gauss-Jordan; the systems are positive definite. */
function solve(system: number[][]): number[] {
  for (const [at, pivot] of system.entries()) {
    const divisor = pivot[at] as number;
    for (const place of pivot.keys()) pivot[place] = (pivot[place] as number) / divisor;
    for (const row of system) {
      if (row === pivot) continue;
      const factor = row[at] as number;
      for (const place of row.keys()) row[place] = (row[place] as number) - factor * (pivot[place] as number);
    }
  }
  return system.map((row) => row.at(-1) as number);
}
