/** What servers say beside their answers is prose, and repeats what they were given like their errors do. */
import type { JsonObject } from '../json-rpc.ts';
import { type Mask, maskStrings } from '../security/mask.ts';

/** Tokens and ids stay: the client must know them again. */
const proseOf = new Map([
  ['notifications/message', ['data', 'logger']],
  ['notifications/progress', ['message']],
  ['notifications/tasks', ['statusMessage']],
  ['notifications/tasks/status', ['statusMessage']],
]);

export function maskNotice(method: string, params: JsonObject, mask: Mask): JsonObject {
  const fields = (proseOf.get(method) ?? []).filter((field) => params[field] !== undefined);
  if (fields.length === 0) return params;
  return { ...params, ...Object.fromEntries(fields.map((field) => [field, maskStrings(params[field], mask)])) };
}
