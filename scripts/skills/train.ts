/** Multinomial logistic regression by AdaGrad, drawn towards the skills' own descriptions. */
import { softmax } from '../../src/skills/trained-classifier.ts';

export interface Example {
  features: Float32Array;
  /** By skill: its share of the tool. */
  target: Float32Array;
  weight: number;
}

export interface Weights {
  /** One row for each skill. */
  rows: Float32Array[];
  biases: Float64Array;
}

const epochs = 12;
const rate = 0.02;
const decay = 0.01;
const ignored = 1e-3;

/** `prior`: by skill, the weights that it has while nothing is known. */
export function train(examples: readonly Example[], prior: readonly Float32Array[]): Weights {
  const rows = prior.map((row) => row.slice());
  const biases = new Float64Array(prior.length);
  const squares = prior.map((row) => new Float32Array(row.length).fill(1e-3));
  const biasSquares = new Float64Array(prior.length).fill(1e-3);
  const random = createRandom(1);
  const order = examples.map((_, at) => at);
  for (let epoch = 0; epoch < epochs; epoch++) {
    shuffle(order, random);
    for (const at of order) {
      const { features, target, weight } = examples[at] as Example;
      const shares = softmax(toScores({ rows, biases }, features));
      for (const [skill, row] of rows.entries()) {
        const error = ((shares[skill] as number) - (target[skill] as number)) * weight;
        if (Math.abs(error) < ignored) continue;
        step(row, prior[skill] as Float32Array, squares[skill] as Float32Array, features, error);
        biasSquares[skill] = (biasSquares[skill] as number) + error * error;
        biases[skill] = (biases[skill] as number) - (rate * error) / Math.sqrt(biasSquares[skill] as number);
      }
    }
  }
  return { rows, biases };
}

function step(row: Float32Array, prior: Float32Array, squares: Float32Array, features: Float32Array, error: number) {
  for (let at = 0; at < row.length; at++) {
    const slope = error * (features[at] as number) + decay * ((row[at] as number) - (prior[at] as number));
    squares[at] = (squares[at] as number) + slope * slope;
    row[at] = (row[at] as number) - (rate * slope) / Math.sqrt(squares[at] as number);
  }
}

export function toScores({ rows, biases }: Weights, features: Float32Array): number[] {
  return rows.map((row, skill) => {
    let sum = biases[skill] as number;
    for (let at = 0; at < row.length; at++) sum += (row[at] as number) * (features[at] as number);
    return sum;
  });
}

function shuffle(order: number[], random: () => number): void {
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [order[at], order[other]] = [order[other] as number, order[at] as number];
  }
}

/** The same order every time, so that the same labels give the same file. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x80000000;
  };
}
