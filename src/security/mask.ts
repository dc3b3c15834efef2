import { maxPattern, spellingsOf } from './spellings.ts';

export const hidden = '***';
/** Masking shorter values would make texts unreadable. */
const minSecret = 4;
/** Maximum length of a secret; longer values are rejected as input and recognised by their beginning here. */
export const maxSecret = 65_536;

export type Mask = (text: string) => string;

/** Replaces the secrets in free text: error messages, stderr, history. */
export function createMask(secrets: readonly string[], shortest = minSecret): Mask {
  const known = secrets.filter((secret) => secret.trim().length >= shortest);
  return createScanner(new Set(known.flatMap((secret) => spellingsOf(secret.slice(0, maxSecret)))));
}

/** Maximum length of text that is scanned. */
const maxRead = 65_536;

/** The masked beginning of a text. Masked before it is cut, because a cut secret is not recognised. */
export function maskBeginning(text: string, mask: Mask, chars: number): string {
  return maskWithin(text, mask, maxRead).slice(0, chars);
}

/** An error longer than this is cut. */
const maxError = 262_144;

/** The masked text of a server's error. */
export function maskError(text: string, mask: Mask): string {
  const shown = maskWithin(text, mask, maxError);
  return text.length <= maxError ? shown : `${shown}… (truncated, ${text.length} characters)`;
}

/** The scanned text may end within a secret, so its end is dropped. */
function maskWithin(text: string, mask: Mask, read: number): string {
  return text.length <= read ? mask(text) : mask(text.slice(0, read)).slice(0, -maxPattern);
}

/** Deeper values would exhaust the stack. */
const deepest = 1_000;

/** Masks the strings of a JSON value, including keys. */
export function maskStrings<T>(value: T, mask: Mask): T {
  const masked = (part: unknown, depth: number): unknown => {
    if (typeof part === 'string') return mask(part);
    if (typeof part !== 'object' || part === null || JSON.isRawJSON(part)) return part;
    if (depth > deepest) return hidden;
    if (Array.isArray(part)) return part.map((inner) => masked(inner, depth + 1));
    return Object.fromEntries(Object.entries(part).map(([key, inner]) => [mask(key), masked(inner, depth + 1)]));
  };
  // Strings become strings, so the type is the same.
  return masked(value, 0) as T;
}

/** Length of the prefix that is hashed. */
const maxWindow = 8;
const base = 0x01000193;

/**
 * One pass over the text with a rolling hash; a place where the hash of a pattern's beginning stands is compared with
 * the patterns of that beginning. The time is linear in the text, whatever the secrets are: patterns are short.
 */
function createScanner(patterns: ReadonlySet<string>): Mask {
  if (patterns.size === 0) return (text) => text;
  const window = Math.min(maxWindow, ...new Set(Array.from(patterns, ({ length }) => length)));
  const leaving = powerOf(base, window - 1);
  const byHash = groupByHash(patterns, window);
  const isBeginning = createFilter(byHash.keys(), byHash.size);
  const longestAt = createFinder(byHash);

  return (text) => {
    if (text.length < window) return text;
    let shown = '';
    // Secrets may overlap, so what follows the beginning of one is looked at as well.
    let hiddenUntil = -1;
    let hash = hashOf(text, window);
    for (let at = 0; ; at += 1) {
      if (isBeginning(hash)) {
        const length = longestAt(text, at, hash);
        if (length > 0) {
          if (at > hiddenUntil) shown += text.slice(Math.max(0, hiddenUntil), at) + hidden;
          hiddenUntil = Math.max(hiddenUntil, at + length);
        }
      }
      if (at + window >= text.length) break;
      hash = (Math.imul(hash - Math.imul(text.charCodeAt(at), leaving), base) + text.charCodeAt(at + window)) | 0;
    }
    return hiddenUntil === -1 ? text : shown + text.slice(hiddenUntil);
  };
}

/** So many are compared one by one; keys of one issuer begin alike, and then they are looked up by their length. */
const fewPatterns = 8;

type Finder = (text: string, at: number, hash: number) => number;

/** The length of the longest matching pattern, or 0; one secret may be the beginning of another. */
function createFinder(byHash: ReadonlyMap<number, string[]>): Finder {
  const crowded = new Map<number, { lengths: number[]; known: Set<string> }>();
  for (const [hash, patterns] of byHash) {
    patterns.sort((a, b) => b.length - a.length);
    if (patterns.length <= fewPatterns) continue;
    crowded.set(hash, { lengths: [...new Set(patterns.map(({ length }) => length))], known: new Set(patterns) });
  }
  return (text, at, hash) => {
    const many = crowded.get(hash);
    if (many !== undefined) return many.lengths.find((length) => many.known.has(text.slice(at, at + length))) ?? 0;
    for (const pattern of byHash.get(hash) ?? []) {
      const last = pattern.length - 1;
      if (text.charCodeAt(at + last) === pattern.charCodeAt(last) && text.startsWith(pattern, at)) return last + 1;
    }
    return 0;
  };
}

function groupByHash(patterns: Iterable<string>, window: number): Map<number, string[]> {
  const groups = new Map<number, string[]>();
  for (const pattern of patterns) {
    const hash = hashOf(pattern, window);
    const group = groups.get(hash);
    if (group === undefined) groups.set(hash, [pattern]);
    else group.push(pattern);
  }
  return groups;
}

/** A filter that rejects most positions of ordinary text without a map lookup. */
function createFilter(hashes: Iterable<number>, count: number): (hash: number) => boolean {
  const bits = Math.max(8, Math.ceil(Math.log2(count * 16)));
  const filter = new Uint8Array(2 ** bits);
  const slotOf = (hash: number) => Math.imul(hash, 0x9e3779b1) >>> (32 - bits);
  for (const hash of hashes) filter[slotOf(hash)] = 1;
  return (hash) => filter[slotOf(hash)] === 1;
}

function hashOf(text: string, length: number): number {
  let hash = 0;
  for (let at = 0; at < length; at += 1) hash = (Math.imul(hash, base) + text.charCodeAt(at)) | 0;
  return hash;
}

function powerOf(factor: number, exponent: number): number {
  let power = 1;
  for (let count = 0; count < exponent; count += 1) power = Math.imul(power, factor);
  return power;
}
