/** JSON Schema as far as forms need it: what a field is, what it starts with, what is wrong with a value. Pure. */
import type { Json } from './api.ts';
import { patternCost } from './pattern-cost.ts';

export interface Schema extends Json {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  $ref?: string;
}

export type Kind =
  | 'string'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'object'
  | 'array'
  | 'enum'
  | 'multiple'
  | 'choice'
  | 'raw';

/** Follows local references and merges `allOf`; a reference that goes in circles ends as "anything". */
export function resolve(schema: Schema | boolean | undefined, root: Schema, depth = 0): Schema {
  if (typeof schema !== 'object') return {};
  if (depth > 20) return {};
  if (typeof schema.$ref === 'string') {
    const { $ref, ...beside } = schema;
    return { ...resolve(find(root, $ref), root, depth + 1), ...beside };
  }
  if (schema.allOf === undefined) return schema;
  const { allOf, ...own } = schema;
  return allOf.map((part) => resolve(part, root, depth + 1)).reduce(merge, own);
}

function merge(a: Schema, b: Schema): Schema {
  return {
    ...a,
    ...b,
    properties: { ...a.properties, ...b.properties },
    required: [...(a.required ?? []), ...(b.required ?? [])],
  };
}

function find(root: Schema, reference: string): Schema | undefined {
  if (!reference.startsWith('#')) return undefined;
  const steps = reference.slice(1).split('/').filter(Boolean);
  const decoded = steps.map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'));
  return decoded.reduce<unknown>((place, step) => (isObject(place) ? place[step] : undefined), root) as
    | Schema
    | undefined;
}

export interface Option {
  value: unknown;
  title: string;
}

/** The values of an enum with their titles: `enum` (with `enumNames`), `const`, or a choice of nothing but constants. */
export function optionsOf(schema: Schema): Option[] | undefined {
  const named = (value: unknown, title: unknown) => ({ value, title: String(title ?? value) });
  if (schema.enum !== undefined) {
    const names = Array.isArray(schema.enumNames) ? (schema.enumNames as unknown[]) : [];
    return schema.enum.map((value, place) => named(value, names[place]));
  }
  if ('const' in schema) return [named(schema.const, schema.title)];
  const variants = plainVariants(schema);
  if (variants.length === 0 || !variants.every((variant) => 'const' in variant)) return undefined;
  return variants.map((variant) => named(variant.const, variant.title));
}

/** More options than this are not shown as checkboxes. */
const maxCheckboxes = 100;

export function kindOf(schema: Schema, root: Schema = schema): Kind {
  if (optionsOf(schema) !== undefined) return 'enum';
  const variants = schema.oneOf ?? schema.anyOf;
  if (variants !== undefined && schema.properties === undefined) {
    return plainVariants(schema).length === 1 ? kindOf(plainVariants(schema)[0] ?? {}, root) : 'choice';
  }
  const [type] = typesOf(schema).filter((name) => name !== 'null');
  if (type === 'object') return schema.properties === undefined ? 'raw' : 'object';
  if (type === 'array') {
    if (typeof schema.items !== 'object') return 'raw';
    return (optionsOf(simplify(schema.items, root))?.length ?? Number.POSITIVE_INFINITY) <= maxCheckboxes
      ? 'multiple'
      : 'array';
  }
  if (type === 'string' || type === 'number' || type === 'integer' || type === 'boolean') return type;
  return schema.properties === undefined ? 'raw' : 'object';
}

/** The variants of a choice, without "or null". */
export function plainVariants(schema: Schema): Schema[] {
  return (schema.oneOf ?? schema.anyOf ?? []).filter((variant) => variant.type !== 'null');
}

/** `string | null` is a string that may be left out. */
export function simplify(schema: Schema, root: Schema): Schema {
  const own = resolve(schema, root);
  const variants = plainVariants(own);
  if (own.properties !== undefined || variants.length !== 1) return own;
  const { oneOf: _one, anyOf: _any, ...rest } = own;
  return { ...simplify(variants[0] ?? {}, root), ...rest };
}

export function typesOf(schema: Schema): string[] {
  return schema.type === undefined ? [] : Array.isArray(schema.type) ? schema.type : [schema.type];
}

/** What a form starts with: the defaults, and the objects that must be there. */
export function startValue(given: Schema, root: Schema, depth = 0): unknown {
  const schema = simplify(given, root);
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  switch (kindOf(schema, root)) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
          const needed = schema.required?.includes(name) === true && depth < 8;
          const value = needed || 'default' in property ? startValue(property, root, depth + 1) : undefined;
          return value === undefined ? [] : [[name, value]];
        }),
      );
    case 'array':
    case 'multiple':
      return [];
    case 'boolean':
      return false;
    default:
      return undefined;
  }
}

/** Path of a field ("filter.tags.0") → what is wrong with it. */
export type Problems = Record<string, string>;

export function validate(value: unknown, given: Schema, root: Schema = given, path = '', depth = 0): Problems {
  const schema = simplify(given, root);
  if (depth > 30 || value === undefined) return {};
  const problem = problemOf(value, schema);
  if (problem !== undefined) return { [path]: problem };
  const at = (name: string | number) => (path === '' ? String(name) : `${path}.${name}`);
  const problems: Problems = {};

  if (isObject(value)) {
    for (const name of schema.required ?? []) {
      if (value[name] === undefined) problems[at(name)] = 'is required';
    }
    for (const [name, part] of Object.entries(value)) {
      const property = schema.properties?.[name];
      if (property !== undefined) Object.assign(problems, validate(part, property, root, at(name), depth + 1));
      else if (schema.additionalProperties === false) problems[at(name)] = 'is not known to the tool';
    }
  }
  if (Array.isArray(value) && typeof schema.items === 'object') {
    const { items } = schema;
    value.forEach((part, place) => {
      Object.assign(problems, validate(part, items, root, at(place), depth + 1));
    });
  }
  const variants = plainVariants(schema);
  if (variants.length > 1 && schema.properties === undefined && optionsOf(schema) === undefined) {
    const fits = variants.some((variant) => Object.keys(validate(value, variant, root, '', depth + 1)).length === 0);
    if (!fits && value !== null) problems[path] = 'fits none of the possible forms';
  }
  return problems;
}

function problemOf(value: unknown, schema: Schema): string | undefined {
  const types = typesOf(schema);
  if (types.length > 0 && !types.some((type) => isOfType(value, type)))
    return `must be ${types.map(article).join(' or ')}`;
  const options = optionsOf(schema);
  if (options !== undefined && !options.some((option) => same(value, option.value))) {
    return `must be ${options.length > 1 ? 'one of ' : ''}${options.map((option) => JSON.stringify(option.value)).join(', ')}`;
  }
  if (typeof value === 'number') return numberProblem(value, schema);
  if (typeof value === 'string') return textProblem(value, schema);
  if (Array.isArray(value))
    return bounds(value.filter(isSet).length, schema.minItems, schema.maxItems, 'entry', 'entries');
  return undefined;
}

function numberProblem(value: number, schema: Schema): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === 'number' && value < minimum) return `must be at least ${minimum}`;
  if (typeof maximum === 'number' && value > maximum) return `must be at most ${maximum}`;
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) return `must be more than ${exclusiveMinimum}`;
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) return `must be less than ${exclusiveMaximum}`;
  if (typeof multipleOf === 'number' && !Number.isInteger(Math.round((value / multipleOf) * 1e9) / 1e9)) {
    return `must be a multiple of ${multipleOf}`;
  }
  return undefined;
}

function textProblem(value: string, schema: Schema): string | undefined {
  if (typeof schema.pattern === 'string' && !matches(schema.pattern, value)) return `must match ${schema.pattern}`;
  if (schema.format === 'uri' && !URL.canParse(value)) return 'must be a URL';
  if (schema.format === 'email' && !/^\S+@\S+$/.test(value)) return 'must be an e-mail address';
  return bounds(value.length, schema.minLength, schema.maxLength, 'character', 'characters');
}

const maxPatternSteps = 5_000_000;

/** A pattern that this browser does not understand, or that could freeze it, is left for the server to check. */
function matches(pattern: string, value: string): boolean {
  if (patternCost(pattern, value.length) > maxPatternSteps) return true;
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    return true;
  }
}

function bounds(size: number, min: unknown, max: unknown, one: string, many: string): string | undefined {
  const amount = (number: number) => `${number} ${number === 1 ? one : many}`;
  if (typeof min === 'number' && size < min) return `must have at least ${amount(min)}`;
  return typeof max === 'number' && size > max ? `must have at most ${amount(max)}` : undefined;
}

const isSet = (value: unknown) => value !== undefined;

/** Whether a form has nothing in it. */
export function isBlank(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isBlank);
  return isObject(value) ? Object.values(value).every(isBlank) : value === undefined;
}

/** What is sent: the entries of lists that were never filled in are left out. */
export function withoutGaps(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter(isSet).map(withoutGaps);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, withoutGaps(part)]));
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'object':
      return isObject(value);
    case 'array':
      return Array.isArray(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}

const article = (type: string) => (/^[aio]/.test(type) ? `an ${type}` : type === 'null' ? type : `a ${type}`);
const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One row per field, nested ones by their path: a schema that people can read. */
export interface FieldRow {
  path: string;
  type: string;
  required: boolean;
  description: string;
  limits: string;
}

export function toRows(given: Schema, root: Schema = given, prefix = '', depth = 0): FieldRow[] {
  const schema = simplify(given, root);
  if (depth > 5) return [];
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const own = simplify(property, root);
    const path = `${prefix}${name}`;
    const row = {
      path,
      type: typeName(own, root),
      required: schema.required?.includes(name) === true,
      description: own.description ?? own.title ?? '',
      limits: limitsOf(own),
    };
    const items = typeof own.items === 'object' ? simplify(own.items, root) : undefined;
    const inner = kindOf(own) === 'object' ? toRows(own, root, `${path}.`, depth + 1) : [];
    const ofItems = items?.properties === undefined ? [] : toRows(items, root, `${path}[].`, depth + 1);
    return [row, ...inner, ...ofItems];
  });
}

function typeName(schema: Schema, root: Schema): string {
  if (optionsOf(schema) !== undefined) return 'one of';
  const variants = plainVariants(schema);
  if (variants.length > 1) return variants.map((variant) => typeName(simplify(variant, root), root)).join(' or ');
  const types = typesOf(schema).filter((type) => type !== 'null');
  if (types[0] === 'array' && typeof schema.items === 'object') {
    return `list of ${typeName(simplify(schema.items, root), root)}`;
  }
  return types.join(' or ') || 'anything';
}

function limitsOf(schema: Schema): string {
  const parts: string[] = [];
  const options = optionsOf(schema) ?? (typeof schema.items === 'object' ? optionsOf(schema.items) : undefined);
  if (options !== undefined) parts.push(options.map(({ value }) => JSON.stringify(value)).join(', '));
  if (schema.default !== undefined) parts.push(`default ${JSON.stringify(schema.default)}`);
  if (schema.minimum !== undefined) parts.push(`≥ ${String(schema.minimum)}`);
  if (schema.maximum !== undefined) parts.push(`≤ ${String(schema.maximum)}`);
  if (schema.minLength !== undefined) parts.push(`at least ${String(schema.minLength)} characters`);
  if (schema.maxLength !== undefined) parts.push(`at most ${String(schema.maxLength)} characters`);
  if (schema.pattern !== undefined) parts.push(`matches ${String(schema.pattern)}`);
  if (schema.format !== undefined) parts.push(String(schema.format));
  return parts.join('; ');
}

export function readJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined; // half typed
  }
}
