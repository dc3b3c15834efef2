/** Holds answers against the OpenAPI document that describes them. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

export interface Operation {
  operationId: string;
  summary: string;
  parameters: { name: string; in: string; required: boolean; schema: object }[];
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>;
}

export interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object> };
}

/** Answers that any path may give, beside those that its operation names. */
const anywhere: Record<number, string> = { 404: 'Error', 413: 'Error', 422: 'ValidationError', 503: 'Error' };

/** What the document does not say about this answer, or undefined when it describes it. */
export function findUndescribed(
  document: Document,
  answer: { method: string; path: string; status: number; body: unknown },
): string | undefined {
  const operation = findOperation(document, answer.method, answer.path);
  if (answer.path === '/openapi.json') return undefined; // the document does not describe itself
  if (operation === undefined)
    return ['403', '404', '405', '422'].includes(String(answer.status)) ? undefined : 'no such path';
  const described = operation.responses[answer.status];
  const shared = anywhere[answer.status];
  if (described === undefined && shared === undefined) return `status ${answer.status} is not described`;
  const schema =
    described?.content?.['application/json']?.schema ??
    (shared === undefined ? undefined : { $ref: `#/components/schemas/${shared}` });
  if (schema === undefined) return answer.body === undefined ? undefined : 'a body where none is described';
  const validate = compile(document, schema);
  return validate(answer.body) ? undefined : JSON.stringify(validate.errors);
}

export function findOperation(document: Document, method: string, path: string): Operation | undefined {
  const [plain = ''] = path.split('?');
  const exact = document.paths[plain]?.[method.toLowerCase()];
  if (exact !== undefined) return exact;
  const found = Object.entries(document.paths).find(([pattern, operations]) => {
    const expression = pattern.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+');
    return method.toLowerCase() in operations && new RegExp(`^${expression}/?$`).test(plain);
  });
  return found?.[1][method.toLowerCase()];
}

const compiled = new WeakMap<object, Map<string, ValidateFunction>>();

export function compile(document: Document, schema: object): ValidateFunction {
  const known = compiled.get(document) ?? new Map<string, ValidateFunction>();
  compiled.set(document, known);
  const key = JSON.stringify(schema);
  const existing = known.get(key);
  if (existing !== undefined) return existing;
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  const validate = ajv.compile({ ...schema, components: document.components });
  known.set(key, validate);
  return validate;
}
