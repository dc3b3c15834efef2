import { createHash } from 'node:crypto';
import { toCodes } from './codes.ts';
import { buildPhraseIndex, isFartherThan, type PhraseIndex } from './distance-bounds.ts';
import { gramProfiles, missesMoreThan, profileSizes } from './gram-profile.ts';
import { distanceMeter } from './levenshtein.ts';

/**
 * What a duplicate is: with `n(x)` the normalised text, two items are duplicates when `n(a) = n(b)` or
 * `1 - levenshtein(n(a), n(b)) / max(|n(a)|, |n(b)|) > threshold`, counted in UTF-16 code units. Items are taken in the
 * order given; each joins the oldest cluster whose first member is its duplicate, or else starts a cluster.
 */
export interface Deduplication {
  /** Indexes into the input; the first of each cluster is the one to show. */
  clusters: number[][];
  /** False when the work limit was reached and the rest was only compared exactly. */
  complete: boolean;
}

export interface DedupeOptions {
  threshold?: number;
  /** Bounds the time that hostile answers (all alike, none equal) can take; in steps of `DistanceMeter`. */
  maxSteps?: number;
}

export const defaultThreshold = 0.8;
const defaultMaxSteps = 120_000_000;

interface Representative {
  cluster: number;
  text: string;
  profiles: Int32Array[];
}

export function dedupe(contents: readonly string[], options: DedupeOptions = {}): Deduplication {
  const threshold = options.threshold ?? defaultThreshold;
  const maxSteps = options.maxSteps ?? defaultMaxSteps;
  const meter = distanceMeter();
  const clusters: number[][] = [];
  const byHash = new Map<string, number>();
  const representatives: Representative[] = [];
  let boundSteps = 0;
  let complete = true;

  contents.forEach((content, index) => {
    const text = normalise(content);
    const hash = createHash('sha1').update(text).digest('base64');
    // Equal texts have equal neighbours, so whoever was equal before has already found the right cluster.
    const known = byHash.get(hash);
    if (known !== undefined) {
      clusters[known]?.push(index);
      return;
    }
    const codes = toCodes(text);
    const profiles = gramProfiles(codes);
    const found = findCluster(codes, profiles);
    const cluster = found ?? clusters.length;
    byHash.set(hash, cluster);
    if (found === undefined) {
      clusters.push([index]);
      representatives.push({ cluster, text, profiles });
    } else clusters[found]?.push(index);
  });
  return { clusters, complete };

  /** Cheap lower bounds of the distance first; only what passes them all is measured. */
  function findCluster(text: Uint16Array, profiles: Int32Array[]): number | undefined {
    let index: PhraseIndex | undefined;
    let isPrepared = false;
    for (const other of representatives) {
      const limit = largestDistance(Math.max(text.length, other.text.length), threshold);
      if (Math.abs(text.length - other.text.length) > limit) continue;
      if (profilesDiffer(profiles, other.profiles, text.length >= other.text.length, limit)) continue;
      if (meter.steps + boundSteps > maxSteps) {
        complete = false;
        return undefined;
      }
      index ??= buildPhraseIndex(text);
      boundSteps += other.text.length >> 2;
      const otherCodes = toCodes(other.text);
      if (isFartherThan(otherCodes, index, limit)) continue;
      if (!isPrepared) meter.prepare(text);
      isPrepared = true;
      if (meter.atMost(otherCodes, limit)) return other.cluster;
    }
    return undefined;
  }
}

/** What is compared: lower case, every run of white space one space, none at the ends. */
export function normalise(text: string): string {
  const codes = toCodes(text.toLowerCase());
  let length = 0;
  let space = true;
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    const isSpace = code <= 32 ? code === 32 || (code >= 9 && code <= 13) : code >= 160 && isWideSpace(code);
    if (isSpace && space) continue;
    space = isSpace;
    codes[length++] = isSpace ? 32 : code;
  }
  if (space && length > 0) length--;
  return Buffer.from(codes.buffer, codes.byteOffset, 2 * length).toString('utf16le');
}

function isWideSpace(code: number): boolean {
  return code === 0xa0 || (code >= 0x2000 && code <= 0x200b) || code === 0x2028 || code === 0x202f || code === 0x3000;
}

/** The largest distance that still counts as similar, by the very expression of the definition. */
export function largestDistance(length: number, threshold: number): number {
  if (length === 0) return 0;
  let distance = Math.ceil((1 - threshold) * length) + 1;
  while (distance >= 0 && !(1 - distance / length > threshold)) distance--;
  return distance;
}

/** One edit destroys at most `size` grams of the longer text, so more missing grams than that prove the distance. */
function profilesDiffer(mine: Int32Array[], theirs: Int32Array[], mineIsLonger: boolean, limit: number): boolean {
  return profileSizes.some((size, i) => {
    const a = mine[i];
    const b = theirs[i];
    if (a === undefined || b === undefined) return false;
    return mineIsLonger ? missesMoreThan(a, b, size * limit) : missesMoreThan(b, a, size * limit);
  });
}
