/**
 * JSON that is passed on says the same at the other end. JavaScript's numbers have 15 digits for certain, those of other
 * languages have more: an id of 19 digits must arrive as the id that it was.
 */

/** A number as it was written, which `JSON.stringify` writes in the same way. */
export interface RawNumber {
  readonly rawJSON: string;
}

declare global {
  // The platform has them, the compiler's library not yet.
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
    // The reviver goes down into the value and needs stack; the parser does not. Whoever passes it on limits its depth.
    if (error instanceof RangeError) return JSON.parse(text);
    throw error;
  }
}

function keepExact(_key: string, value: unknown, { source }: { source: string }): unknown {
  return typeof value === 'number' && perhapsInexact.test(source) && String(value) !== source
    ? JSON.rawJSON(source)
    : value;
}

/** For those who look into values: with JavaScript's own numbers, as near as they come. */
export function withPlainNumbers<T>(value: T): T {
  return holdsRawNumber(value) ? (JSON.parse(JSON.stringify(value)) as T) : value;
}

function holdsRawNumber(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return JSON.isRawJSON(value) || Object.values(value).some(holdsRawNumber);
}
