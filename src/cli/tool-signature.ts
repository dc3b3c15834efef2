/** A tool as a person reads it: its parameters with their types, from its JSON schema. Pure. */
import type { ToolView } from './answers.ts';

type JsonSchema = Record<string, unknown>;

interface SignatureParameter {
  name: string;
  type: string;
  isRequired: boolean;
  description: string;
}

/** Required ones first, otherwise in the order of the schema. */
export function parametersOf(schema: JsonSchema): SignatureParameter[] {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  return Object.entries(objectOf(schema.properties))
    .map(([name, property]) => ({
      name,
      type: typeOf(property, schema),
      isRequired: required.has(name),
      description: describeParameter(objectOf(property)),
    }))
    .sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
}

/** `create_issue(repo: string, title: string, labels?: string[])` */
export function signatureOf({ name, input_schema: schema }: Pick<ToolView, 'name' | 'input_schema'>): string {
  const parameters = parametersOf(schema).map((one) => `${one.name}${one.isRequired ? '' : '?'}: ${one.type}`);
  return `${name}(${parameters.join(', ')})`;
}

/** `repo, title, labels?` */
export function parameterNames({ input_schema: schema }: Pick<ToolView, 'input_schema'>): string {
  return parametersOf(schema)
    .map(({ name, isRequired }) => `${name}${isRequired ? '' : '?'}`)
    .join(', ');
}

/** An example of a call with the arguments that it needs. */
export function exampleOf(tool: Pick<ToolView, 'name' | 'input_schema'>): string {
  const needed = parametersOf(tool.input_schema).filter(({ isRequired }) => isRequired);
  return ['mcp-aggregator call', tool.name, ...needed.map(({ name }) => `${name}=…`)].join(' ');
}

function describeParameter({ description, default: preset }: JsonSchema): string {
  const text = typeof description === 'string' ? description.replace(/\s+/g, ' ').trim() : '';
  return [text, preset === undefined ? '' : `(default: ${JSON.stringify(preset)})`].filter(Boolean).join(' ');
}

const maxDepth = 4;
const maxChoices = 8;

function typeOf(given: unknown, root: JsonSchema, depth = 0): string {
  const schema = resolve(objectOf(given), root);
  if (depth > maxDepth) return '…';
  const inner = (part: unknown) => typeOf(part, root, depth + 1);
  if (Array.isArray(schema.enum)) return choices(schema.enum.map((value) => JSON.stringify(value)));
  if ('const' in schema) return JSON.stringify(schema.const) ?? 'any';
  const union = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(union)) return choices([...new Set(union.map(inner))]);
  if (schema.type === 'array') return arrayOf(inner(schema.items ?? {}));
  if (Array.isArray(schema.type)) return choices(schema.type.map(String));
  return typeof schema.type === 'string' ? schema.type : 'any';
}

function choices(all: readonly string[]): string {
  return all.length > maxChoices ? `${all.slice(0, maxChoices).join(' | ')} | …` : all.join(' | ');
}

const arrayOf = (type: string) => (type.includes(' | ') ? `(${type})[]` : `${type}[]`);

/** A reference within the schema, one step. */
function resolve(schema: JsonSchema, root: JsonSchema): JsonSchema {
  if (typeof schema.$ref !== 'string' || !schema.$ref.startsWith('#/')) return schema;
  const found = schema.$ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, key) => objectOf(at)[key.replaceAll('~1', '/').replaceAll('~0', '~')], root);
  return objectOf(found);
}

function objectOf(value: unknown): JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonSchema) : {};
}
