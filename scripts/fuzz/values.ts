/** JSON that is nearly right: made from a schema or a sample, then bent in one to three places. */
import type { Random } from '../chaos/random.ts';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

type Schema = { [key: string]: unknown };

const words = ['notes', 'ada', 'search_notes', 'good.echo', 'a', 'STDIO', 'HTTP', 'http://127.0.0.1:9/', '2026-07-28'];
const oddStrings = [
  '',
  ' ',
  '\u0000',
  '../../etc',
  '__proto__',
  'ü'.repeat(300),
  '😀\ud800',
  '${HOME}',
  'x'.repeat(70_000),
  '%00',
  '\r\nx: y',
];
const oddNumbers = [0, -1, 1.5, 1e308, -1e308, 2 ** 53, 2 ** 31, Number.MIN_VALUE];

export function createValues(random: Random) {
  const odd = (): Json =>
    random.pick<() => Json>([
      () => null,
      () => true,
      () => random.pick(oddNumbers),
      () => random.pick(oddStrings),
      () => [],
      () => ({}),
      () => ({ constructor: 1, toString: 'x' }),
      () => nested(Math.floor(random.between(5, 400))),
      () => Array.from({ length: 200 }, () => random.pick(words)),
    ])();

  function nested(depth: number): Json {
    let value: Json = 'deep';
    for (let level = 0; level < depth; level += 1) value = random() < 0.5 ? [value] : { a: value };
    return value;
  }

  /** What the schema allows, for the common parts of JSON Schema. */
  function fromSchema(schema: Schema, resolve: (ref: string) => Schema, depth = 0): Json {
    if (depth > 6) return null;
    const again = (part: unknown) => fromSchema(part as Schema, resolve, depth + 1);
    if (typeof schema.$ref === 'string') return again(resolve(schema.$ref));
    if (Array.isArray(schema.enum)) return random.pick(schema.enum as Json[]);
    if (schema.const !== undefined) return schema.const as Json;
    const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf;
    if (Array.isArray(choices)) return again(random.pick(choices));
    const type = Array.isArray(schema.type) ? random.pick(schema.type) : schema.type;
    if (type === 'object' || schema.properties !== undefined) {
      const required = new Set((schema.required ?? []) as string[]);
      const entries = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
        .filter(([key]) => required.has(key) || random() < 0.4)
        .map(([key, part]) => [key, again(part)] as const);
      return Object.fromEntries(entries);
    }
    if (type === 'array') return Array.from({ length: Math.floor(random() * 3) }, () => again(schema.items ?? {}));
    if (type === 'integer' || type === 'number') return Math.floor(random.between(0, 50));
    if (type === 'boolean') return random() < 0.5;
    if (type === 'null') return null;
    return random.pick(words);
  }

  /** One to three places of a value become something else, vanish or multiply. */
  function bend(value: Json): Json {
    let bent = structuredClone(value);
    for (let times = Math.ceil(random() * 3); times > 0; times -= 1) bent = bendOnce(bent);
    return bent;
  }

  function bendOnce(value: Json): Json {
    if (typeof value !== 'object' || value === null || random() < 0.1) return odd();
    const keys = Object.keys(value);
    if (keys.length === 0) return odd();
    const key = random.pick(keys);
    const container = value as Record<string, Json>;
    const act = random();
    if (act < 0.55) container[key] = bendOnce(container[key] ?? null);
    else if (act < 0.75) delete container[key];
    else if (act < 0.9) container[random.pick([...keys, ...oddStrings, 'extra'])] = odd();
    else container[key] = odd();
    return value;
  }

  return { fromSchema, bend, odd, word: () => random.pick([...words, ...oddStrings]) };
}

export type Values = ReturnType<typeof createValues>;
