/** Do arguments fit a tool's schema? Server-supplied patterns are never run: they may backtrack without end. */
import { isObject } from '../json-rpc.ts';
import { allows } from './strategy/parameters.ts';

const maxDepth = 8;

/** Where and why a value does not fit; undefined where it does. */
export function findMismatch(schema: unknown, value: unknown, path = 'arguments', depth = 0): string | undefined {
  if (!isObject(schema) || depth > maxDepth) return undefined;
  if (Array.isArray(schema.enum) && !schema.enum.some((allowed) => isSame(allowed, value)))
    return `${path} must be one of ${schema.enum.map((allowed) => JSON.stringify(allowed)).join(', ')}`.slice(0, 300);
  if (schema.const !== undefined && !isSame(schema.const, value))
    return `${path} must be ${JSON.stringify(schema.const)}`;
  const types = typesOf(schema);
  if (types.length > 0 && !types.some((type) => isOfType(value, type))) return `${path} must be ${types.join(' or ')}`;
  if (typeof value === 'number') return outOfBounds(path, value, schema.minimum, schema.maximum);
  if (typeof value === 'string')
    return outOfBounds(`the length of ${path}`, value.length, schema.minLength, schema.maxLength);
  if (Array.isArray(value)) {
    const problem = outOfBounds(`the length of ${path}`, value.length, schema.minItems, schema.maxItems);
    return problem ?? firstOf(value, (element, at) => findMismatch(schema.items, element, `${path}[${at}]`, depth + 1));
  }
  return isObject(value) ? objectMismatch(schema, value, path, depth) : undefined;
}

const knownTypes = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'];

/** Empty where the schema does not say. */
function typesOf(schema: Record<string, unknown>): string[] {
  return knownTypes.filter((type) => allows(schema, type));
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}

function objectMismatch(
  schema: Record<string, unknown>,
  value: Record<string, unknown>,
  path: string,
  depth: number,
): string | undefined {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const missing = required.find((name) => value[name] === undefined);
  if (missing !== undefined) return `${path}.${missing} is required`;
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(properties, name));
  if (unknown !== undefined && schema.additionalProperties === false) return `${path}.${unknown} is not a parameter`;
  return firstOf(Object.entries(value), ([name, inner]) =>
    Object.hasOwn(properties, name) ? findMismatch(properties[name], inner, `${path}.${name}`, depth + 1) : undefined,
  );
}

function firstOf<T>(values: readonly T[], check: (value: T, at: number) => string | undefined): string | undefined {
  for (const [at, value] of values.entries()) {
    const problem = check(value, at);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function outOfBounds(what: string, value: number, min: unknown, max: unknown): string | undefined {
  if (typeof min === 'number' && value < min) return `${what} must be at least ${min}`;
  return typeof max === 'number' && value > max ? `${what} must be at most ${max}` : undefined;
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
