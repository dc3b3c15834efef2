/** JSON texts in all their spellings, and such that are nearly JSON. */
import { type Json, pick, type Random } from '../mcp/random-json.ts';

/** One of the many texts that say the same; some names twice. */
export function spell(value: Json, random: Random): string {
  const space = () => (random() < 0.1 ? pick(random, [' ', '\n', '\t', '\r\n', '  ']) : '');
  if (typeof value === 'string') return spellText(value, random);
  if (typeof value === 'number') return spellNumber(value, random);
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value))
    return `[${space()}${value.map((one) => `${space()}${spell(one, random)}${space()}`).join(',')}]`;
  const entries = Object.entries(value);
  const twice = entries[0] !== undefined && random() < 0.02 ? [...entries, entries[0]] : entries;
  const members = twice.map(
    ([name, one]) => `${space()}${spellText(name, random, 0.01)}${space()}:${space()}${spell(one, random)}${space()}`,
  );
  return `{${space()}${members.join(',')}}`;
}

function spellText(text: string, random: Random, escapes = 0.2): string {
  if (random() >= escapes) return JSON.stringify(text);
  const units = Array.from({ length: text.length }, (_none, at) => text.charCodeAt(at));
  return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`;
}

function spellNumber(value: number, random: Random): string {
  const text = String(value);
  if (random() < 0.2 && /^-?\d+$/.test(text) && value > 1e6) return `${text}.0`;
  return random() < 0.1 && /^-?\d$/.test(text) ? pick(random, [`${text}.0`, `${text}e0`, `${text}E+00`]) : text;
}

/** Mostly no JSON any more. */
export function damage(whole: Buffer, random: Random): Buffer {
  const at = Math.floor(random() * whole.length);
  const bytes = Buffer.from(
    pick(random, ['"', '\\', ',', ':', '{', '}', '[', ']', '0', '-', '.', 'e', ' ', '\n', '\u0001', 'é', 't']),
  );
  const left = whole.subarray(0, at);
  switch (pick(random, ['cut', 'insert', 'replace', 'remove'])) {
    case 'cut':
      return left;
    case 'insert':
      return Buffer.concat([left, bytes, whole.subarray(at)]);
    case 'replace':
      return Buffer.concat([left, bytes, whole.subarray(at + 1)]);
    default:
      return Buffer.concat([left, whole.subarray(at + 1)]);
  }
}
