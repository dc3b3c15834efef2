/** JSON as servers and clients of any future might send it; the same for the same seed. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export type Random = () => number;

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function pick<T>(random: Random, values: readonly T[]): T {
  return values[Math.floor(random() * values.length)] as T; // the index is within the list
}

const keys = [
  'a',
  'kind',
  'x-vendor',
  'example.com/key',
  'ключ',
  '鍵',
  '__proto__',
  'constructor',
  '',
  ' ',
  '"',
  'é\u0301',
];
const texts = ['', 'text', 'two\nlines\t"quoted" \\', '\u0000\u2028\ud83d\ude80', 'null', 'ñ'.repeat(40), '</script>'];
const numbers = [0, -0.5, 1, -1, 1e21, 5e-324, 2 ** 53 - 1, 0.1];

export function randomJson(random: Random, depth = 4): Json {
  const roll = random();
  if (depth > 0 && roll < 0.3) return randomObject(random, depth - 1);
  if (depth > 0 && roll < 0.5)
    return Array.from({ length: Math.floor(random() * 4) }, () => randomJson(random, depth - 1));
  if (roll < 0.75) return pick(random, texts);
  return pick(random, [...numbers, null, true, false]);
}

export function randomObject(random: Random, depth = 3): { [key: string]: Json } {
  const entries = Array.from({ length: Math.floor(random() * 5) }, () => [
    pick(random, keys),
    randomJson(random, depth),
  ]);
  return Object.fromEntries(entries);
}
