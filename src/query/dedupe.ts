import { hash } from 'node:crypto';
import { placeBound } from './distance-bounds.ts';
import { gramProfiles } from './gram-profile.ts';
import { distanceMeter } from './levenshtein.ts';
import { createNormaliser } from './normalise.ts';

/**
 * What a duplicate is: with `n(x)` the normalised text, two items are duplicates when `n(a) = n(b)` or
 * `1 - levenshtein(n(a), n(b)) / max(|n(a)|, |n(b)|) > threshold`, counted in UTF-16 code units. Items are taken in the
 * order given; each joins the oldest cluster whose first member is its duplicate, or else starts a cluster.
 */
export interface Deduplication {
  /** Indexes into the input; the first of each cluster is the one to show. */
  clusters: number[][];
  /** False when a limit of work or memory was reached and the rest was only compared exactly. */
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
  text: Uint16Array;
  /** Of its distance to texts that are no longer than it. */
  limit: number;
}

export function dedupe(contents: readonly string[], options: DedupeOptions = {}): Deduplication {
  const threshold = options.threshold ?? defaultThreshold;
  const maxSteps = options.maxSteps ?? defaultMaxSteps;
  const toNormalised = createNormaliser();
  const meter = distanceMeter();
  const bound = placeBound();
  /** A row for each representative, and the next one for the text at hand. */
  const profiles = gramProfiles(contents.length);
  const clusters: number[][] = [];
  const byDigest = new Map<string, number>();
  const representatives: Representative[] = [];
  let boundSteps = 0;
  let complete = true;

  contents.forEach((content, index) => {
    const text = toNormalised(content);
    const digest = hash('sha1', bytesOf(text), 'base64');
    // Equal texts have equal neighbours, so whoever was equal before has already found the right cluster.
    const known = byDigest.get(digest);
    if (known !== undefined) {
      clusters[known]?.push(index);
      return;
    }
    profiles.set(representatives.length, text);
    const limit = largestDistance(text.length, threshold);
    const found = findCluster(text, limit);
    const cluster = found ?? clusters.length;
    byDigest.set(digest, cluster);
    if (found === undefined) {
      clusters.push([index]);
      representatives.push({ cluster, text, limit });
    } else clusters[found]?.push(index);
  });
  return { clusters, complete };

  /** Cheap bounds of the distance first, an upper one and lower ones; only what passes them all is measured. */
  function findCluster(text: Uint16Array, ownLimit: number): number | undefined {
    const own = representatives.length;
    let isIndexed = false;
    let isPrepared = false;
    for (const [row, other] of representatives.entries()) {
      const isLonger = text.length >= other.text.length;
      const limit = isLonger ? ownLimit : other.limit;
      if (Math.abs(text.length - other.text.length) > limit) continue;
      if (differsInOnePlace(text, other.text, limit)) return other.cluster;
      if (isLonger ? profiles.areFarther(own, row, limit) : profiles.areFarther(row, own, limit)) continue;
      if (meter.steps + boundSteps > maxSteps) {
        complete = false;
        return undefined;
      }
      if (!isIndexed) bound.index(text);
      isIndexed = true;
      boundSteps += other.text.length >> 2;
      if (bound.isFarther(other.text, limit)) continue;
      isPrepared ||= meter.prepare(text);
      if (!isPrepared) {
        complete = false;
        return undefined;
      }
      if (meter.atMost(other.text, limit)) return other.cluster;
    }
    return undefined;
  }
}

/** The text as it is compared. */
export function normalise(text: string): string {
  return bytesOf(createNormaliser()(text)).toString('utf16le');
}

function bytesOf(codes: Uint16Array): Buffer {
  return Buffer.from(codes.buffer, codes.byteOffset, codes.byteLength);
}

/** The largest distance that still counts as similar, by the very expression of the definition. */
export function largestDistance(length: number, threshold: number): number {
  if (length === 0) return 0;
  let distance = Math.ceil((1 - threshold) * length) + 1;
  while (distance >= 0 && !(1 - distance / length > threshold)) distance--;
  return distance;
}

/** What lies between a common beginning and a common end can be replaced as a whole, so the distance is at most its length. */
function differsInOnePlace(a: Uint16Array, b: Uint16Array, limit: number): boolean {
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start++;
  let end = 0;
  while (end < shorter - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  return Math.max(a.length, b.length) - start - end <= limit;
}
