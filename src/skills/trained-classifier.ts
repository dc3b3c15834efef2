/** The trained part of the embedded classifier: a linear model over a tool's features. `npm run fit-skills` makes its data. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** From a score to the chance that an assignment is right; below `min` nothing is assigned. */
export interface ClassifierCalibration {
  slopes: number[];
  bias: number;
  min: number;
}

const calibration = z.object({ slopes: z.array(z.number()), bias: z.number(), min: z.number() });

const dataSchema = z.object({
  /** Of the embedding whose vectors it was fitted to. */
  embedding: z.string(),
  features: z.int().positive(),
  skills: z.array(z.object({ id: z.string(), bias: z.number(), scale: z.number() })),
  /** One int8 for each skill and feature, as base64. */
  weights: z.base64(),
  calibration: z.object({
    /** For the skill that fits best. */
    first: calibration,
    /** For the second and third. */
    further: calibration,
    /** For skills that only have a description. */
    described: calibration,
  }),
});

export type TrainedClassifierData = z.infer<typeof dataSchema>;

export interface TrainedClassifier extends Pick<TrainedClassifierData, 'embedding' | 'calibration'> {
  /** The skills that it knows, best first, with the share of the tool that each gets. */
  rank(features: Float32Array): { skillId: string; share: number }[];
}

export const trainedClassifierFile = new URL('../../assets/skill-classifier.json', import.meta.url);

export function loadTrainedClassifier(file: URL = trainedClassifierFile): TrainedClassifier {
  return createTrainedClassifier(dataSchema.parse(JSON.parse(readFileSync(file, 'utf8'))));
}

export function createTrainedClassifier(data: TrainedClassifierData): TrainedClassifier {
  const { skills, features: size } = data;
  const bytes = Buffer.from(data.weights, 'base64');
  const weights = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (weights.length !== skills.length * size)
    throw new Error('skill-classifier.json: the weights do not fit its skills');

  return {
    embedding: data.embedding,
    calibration: data.calibration,
    rank(features) {
      const scores = skills.map(({ bias, scale }, row) => {
        let sum = 0;
        for (let at = 0; at < size; at++) sum += (weights[row * size + at] as number) * (features[at] as number);
        return bias + scale * sum;
      });
      const shares = softmax(scores);
      return skills
        .map(({ id }, row) => ({ skillId: id, share: shares[row] as number }))
        .sort((a, b) => b.share - a.share || (a.skillId < b.skillId ? -1 : 1));
    },
  };
}

export function softmax(scores: readonly number[]): number[] {
  const highest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - highest));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

export const logit = (share: number): number => {
  const bounded = Math.min(Math.max(share, 1e-6), 1 - 1e-6);
  return Math.log(bounded / (1 - bounded));
};

export function toConfidence({ slopes, bias }: ClassifierCalibration, ...scores: number[]): number {
  const value = scores.reduce((sum, score, at) => sum + score * (slopes[at] ?? 0), bias);
  return 1 / (1 + Math.exp(-value));
}
