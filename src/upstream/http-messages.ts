/** What a request over Streamable HTTP looks like, and what an answer that is none means. */
import { RpcError } from '../errors.ts';
import { parseJson } from '../exact-json.ts';
import { encodeHeader, isObject, type JsonObject, namedBy } from '../json-rpc.ts';
import type { ServerIdentity } from './session.ts';
import { contentType, type WireAnswer } from './wire.ts';

/** The server answered with an HTTP status that is no answer to a call. */
export class HttpProblem extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(`the server answered HTTP ${status}${text === '' ? '' : `: ${text.slice(0, 200)}`}`);
    this.name = 'HttpProblem';
    this.status = status;
  }
}

/** Of an answer to a request whose status is not 200: the server's own error, or its status. */
export function toProblem(answer: Pick<WireAnswer, 'status' | 'headers' | 'body'>): Error {
  const text = answer.body.toString('utf8');
  const body = contentType(answer) === 'application/json' ? tryParse(text) : undefined;
  const error = isObject(body) && isObject(body.error) ? body.error : undefined;
  const expired = answer.status === 404 && (error === undefined || error.code === -32_001 || error.code === -32_000);
  if (error === undefined || expired || !Number.isInteger(error.code)) return new HttpProblem(answer.status, text);
  return new RpcError(Number(error.code), String(error.message), error.data);
}

function tryParse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined; // an HTML error page and the like; shown as text
  }
}

export function requestHeaders(
  identity: Pick<ServerIdentity, 'era' | 'protocolVersion'>,
  sessionId: string | undefined,
  method?: string,
  params?: JsonObject,
  more?: Readonly<Record<string, string>>,
): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': identity.protocolVersion,
  };
  if (sessionId !== undefined) headers['mcp-session-id'] = sessionId;
  if (identity.era === 'modern' && method !== undefined) {
    headers['mcp-method'] = method;
    const name = params?.[namedBy[method] ?? ''];
    if (typeof name === 'string') headers['mcp-name'] = encodeHeader(name);
  }
  return more === undefined ? headers : { ...more, ...headers };
}
