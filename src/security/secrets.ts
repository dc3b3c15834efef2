import { sameList } from '../lists.ts';
import { createMask } from './mask.ts';

/**
 * Every secret value that this process works with. Whatever leaves for a log, an error answer, the history or the
 * audit passes `mask`: servers repeat their credentials in error messages, and paths can't foresee where.
 */
export interface Secrets {
  learn(owner: string, values: readonly string[]): void;
  forget(owner: string): void;
  mask(text: string): string;
  /** The same for a JSON value; unchanged, and the same object, where nothing had to be hidden. */
  maskJson<T>(value: T): T;
  /** JSON of an object, with nothing secret in it. */
  stringify(value: object): string;
}

/** Values this short are words ("true", "admin", "8080"): to hide them everywhere would garble more than it protects. */
const shortestLearned = 8;

export function createSecrets(): Secrets {
  const values = new Map<string, readonly string[]>();
  let mask = createMask([]);
  const rebuild = () => {
    mask = createMask([...new Set([...values.values()].flat())]);
  };

  return {
    learn(owner, learned) {
      const kept = learned.filter((value) => value.length >= shortestLearned);
      if (sameList(values.get(owner) ?? [], kept)) return;
      values.set(owner, kept);
      rebuild();
    },
    forget(owner) {
      if (values.delete(owner)) rebuild();
    },
    mask: (text) => mask(text),
    maskJson(value) {
      const text = JSON.stringify(value);
      return text === undefined || mask(text) === text ? value : mapStrings(value, mask);
    },
    stringify(value) {
      const text = JSON.stringify(value);
      return mask(text) === text ? text : JSON.stringify(mapStrings(value, mask));
    },
  };
}

function mapStrings<T>(value: T, map: (text: string) => string): T {
  const mapped = (part: unknown): unknown => {
    if (typeof part === 'string') return map(part);
    if (Array.isArray(part)) return part.map(mapped);
    if (typeof part !== 'object' || part === null || JSON.isRawJSON(part)) return part;
    return Object.fromEntries(Object.entries(part).map(([key, inner]) => [map(key), mapped(inner)]));
  };
  // Strings become strings and everything keeps its place, so the type is the same.
  return mapped(value) as T;
}
