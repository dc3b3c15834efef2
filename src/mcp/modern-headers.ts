/** The headers that repeat parts of a 2026-07-28 request, for routers that do not read bodies. */
import { decodeHeader, isObject, type JsonObject, namedBy, rpcCodes } from '../json-rpc.ts';
import { ProtocolError } from './adapt-result.ts';

type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

export function checkVersionHeader(headers: RequestHeaders, version: unknown): void {
  if (version !== undefined) expect(headers, 'mcp-protocol-version', String(version));
}

export function checkStandardHeaders(headers: RequestHeaders, method: string, params: JsonObject): void {
  expect(headers, 'mcp-method', method);
  const name = params[namedBy[method] ?? ''];
  if (isObject(name) || name === undefined) return;
  expect(headers, 'mcp-name', String(name));
}

function expect(headers: RequestHeaders, name: string, expected: string): void {
  const sent = headers[name];
  if (sent !== undefined && decodeHeader(String(sent)) === expected) return;
  const problem = sent === undefined ? 'is missing' : 'does not match the body';
  throw new ProtocolError(rpcCodes.headerMismatch, `Header ${name} ${problem}`, { status: 400 });
}
