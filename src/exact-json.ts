/**
 * JSON parsing that keeps numbers exact. JavaScript numbers are exact for 15 digits only; an ID of 19 digits must arrive
 * unchanged.
 */

/** A number with its original spelling, which `JSON.stringify` preserves. */
export interface RawNumber {
  readonly rawJSON: string;
}

declare global {
  // Available in Node, but not yet in TypeScript's library types.
  interface JSON {
    rawJSON(text: string): RawNumber;
    isRawJSON(value: unknown): value is RawNumber;
    parse(text: string, reviver: (key: string, value: unknown, context: { source: string }) => unknown): unknown;
  }
}

const perhapsInexact = /\d[\d.]{15}|\d[eE][-+]?\d{3}/;

export function parseJson(text: string): unknown {
  if (!perhapsInexact.test(text)) return JSON.parse(text);
  try {
    return JSON.parse(text, keepExact);
  } catch (error) {
    // The reviver is recursive, unlike the parser, so callers limit the depth before they relay a value.
    if (error instanceof RangeError) return JSON.parse(text);
    throw error;
  }
}

function keepExact(_key: string, value: unknown, { source }: { source: string }): unknown {
  return typeof value === 'number' && perhapsInexact.test(source) && String(value) !== source
    ? JSON.rawJSON(source)
    : value;
}

/** Converts to JavaScript numbers, possibly rounded, for code that reads values. */
export function withPlainNumbers<T>(value: T): T {
  return holdsRawNumber(value) ? (JSON.parse(JSON.stringify(value)) as T) : value;
}

function holdsRawNumber(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return JSON.isRawJSON(value) || Object.values(value).some(holdsRawNumber);
}
