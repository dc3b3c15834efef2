export type JsonObject = { [key: string]: unknown };
export type RpcId = string | number;

export interface RpcMessage {
  jsonrpc: '2.0';
  id?: RpcId | null;
  method?: string;
  params?: JsonObject;
  result?: JsonObject;
  error?: { code: number; message: string; data?: unknown };
}

export const errorCodes = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  headerMismatch: -32020,
  missingClientCapability: -32021,
  unsupportedVersion: -32022,
} as const;

export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export function errorMessage(id: RpcId | null | undefined, error: unknown): RpcMessage {
  const code = error instanceof RpcError ? error.code : -32603;
  const message = error instanceof Error ? error.message : String(error);
  const data = error instanceof RpcError && error.data !== undefined ? { data: error.data } : {};
  return { jsonrpc: '2.0', id: id ?? null, error: { code, message, ...data } };
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function objectAt(value: JsonObject | undefined, key: string): JsonObject {
  const found = value?.[key];
  return isObject(found) ? found : {};
}
