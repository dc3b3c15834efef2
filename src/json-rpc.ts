/** JSON-RPC as MCP uses it. Messages are relayed, so only the envelope is typed; everything inside passes unchanged. */
import type { RawNumber } from './exact-json.ts';
import type { RawResult } from './raw-result.ts';

export type JsonObject = { [key: string]: unknown };
export type RequestId = string | number | RawNumber;

export interface RpcRequest {
  jsonrpc: '2.0';
  id: RequestId;
  method: string;
  params?: JsonObject;
}

export interface RpcNotification {
  jsonrpc: '2.0';
  method: string;
  params?: JsonObject;
}

export interface RpcSuccess {
  jsonrpc: '2.0';
  id: RequestId;
  result: JsonObject | RawResult;
}

export interface RpcFailure {
  jsonrpc: '2.0';
  id: RequestId | null;
  error: { code: number; message: string; data?: unknown };
}

export type RpcMessage = RpcRequest | RpcNotification | RpcSuccess | RpcFailure;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isId = (value: unknown): value is RequestId =>
  typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value)) || JSON.isRawJSON(value);

/** A map key for an ID, because numbers with exact spelling are separate objects. */
export const keyOf = (id: unknown): unknown => (JSON.isRawJSON(id) ? id.rawJSON : id);

/** The reason why the envelope is invalid; undefined if it is valid. */
export function envelopeProblem(value: unknown): string | undefined {
  if (!isObject(value)) return 'a message must be a JSON object';
  if (value.jsonrpc !== '2.0') return 'jsonrpc must be "2.0"';
  if (value.method !== undefined) {
    if (typeof value.method !== 'string') return 'method must be a string';
    if (value.id !== undefined && !isId(value.id)) return 'id must be a string or a number';
    if (value.params !== undefined && !isObject(value.params)) return 'params must be an object';
    return undefined;
  }
  if (isObject(value.result)) return isId(value.id) ? undefined : 'id must be a string or a number';
  if (!isObject(value.error)) return 'a message needs a method, a result or an error';
  return Number.isInteger(value.error.code) && typeof value.error.message === 'string'
    ? undefined
    : 'error needs an integer code and a message';
}

export const isMessage = (value: unknown): value is RpcMessage => envelopeProblem(value) === undefined;
export const isRequest = (message: RpcMessage): message is RpcRequest => 'method' in message && 'id' in message;
export const isNotification = (message: RpcMessage): message is RpcNotification =>
  'method' in message && !('id' in message);
export const isResponse = (message: RpcMessage): message is RpcSuccess | RpcFailure => !('method' in message);

/** Some libraries write `"error": null` beside a result. */
export const errorOf = (response: RpcSuccess | RpcFailure): RpcFailure['error'] | undefined =>
  'error' in response && isObject(response.error) ? response.error : undefined;

/** Our numbers (ids, progress tokens) as a server returns them: some return text. NaN is not ours. */
export const toOwnNumber = (id: unknown): number =>
  typeof id === 'number' ? id : typeof id === 'string' ? Number(id) : Number.NaN;

/** Revisions with the initialize handshake, newest first, and those without. */
export const legacyVersions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
export const modernVersions = ['2026-07-28'] as const;
export const newestLegacy = legacyVersions[0];
export const newestModern = modernVersions[0];

export type Era = 'legacy' | 'modern';

/** Lists that may have changed while notifications could not be received. */
export const listChanges = ['tools', 'prompts', 'resources'].map((list) => `notifications/${list}/list_changed`);

/** Keys of `_meta` that belong to one hop and are not forwarded. */
export const hopMeta = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const;

export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingClientCapability: -32021,
  unsupportedVersion: -32022,
  urlElicitationRequired: -32042,
} as const;

/** The parameter that `Mcp-Name` repeats, per method. */
export const namedBy: Record<string, string> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** Header values are visible ASCII; everything else travels as base64 (2026-07-28, Streamable HTTP). */
export function encodeHeader(value: string): string {
  return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith('=?base64?')
    ? value
    : `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}

/** Undefined if it is marked as base64 but invalid. */
export function decodeHeader(value: string): string | undefined {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value.trim())?.[1];
  if (encoded === undefined) return value.trim();
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded ? bytes.toString('utf8') : undefined;
}

/** A malformed answer, such as `"result": null`, as an error: its caller is answered at once. */
export function refuseAnswer(value: unknown): RpcFailure | undefined {
  if (!isObject(value) || value.jsonrpc !== '2.0' || value.method !== undefined) return undefined;
  const id = toOwnNumber(value.id);
  if (!Number.isInteger(id) || !('result' in value || 'error' in value)) return undefined;
  if (envelopeProblem(value) === undefined) return undefined;
  const problem = 'error' in value ? 'error needs an integer code and a message' : 'result must be an object';
  const message = `Invalid response from the server: ${problem}`;
  return { jsonrpc: '2.0', id, error: { code: rpcCodes.internalError, message } };
}

/** A message of the stdio transport. U+2028 and U+2029 are escaped, because many line readers split at them. */
export function toLine(message: RpcMessage): string {
  const text = JSON.stringify(message);
  const safe = /[\u2028\u2029]/.test(text)
    ? text.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
    : text;
  return `${safe}\n`;
}
