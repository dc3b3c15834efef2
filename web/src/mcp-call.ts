/** A request as an MCP client (2026-07-28), with progress and input requests; answers are sent with a repeated request. */
import { ApiError, type Json } from './api.ts';
import { eventsIn } from './event-stream.ts';
import { isObject } from './schema.ts';

const protocolVersion = '2026-07-28';

export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

/** What the server asks for: a form to fill in, a page to visit, or the answer of a model. */
export interface Question {
  key: string;
  method: string;
  params: Json;
}

export interface McpRequest {
  /** `/mcp`, or the endpoint of one server, where names are its own. */
  endpoint: string;
  method: 'tools/call' | 'resources/read' | 'prompts/get' | ListMethod;
  params: Json;
}

export type ListMethod = 'resources/list' | 'resources/templates/list' | 'prompts/list';

export interface CallHandlers {
  onProgress(progress: Progress): void;
  /** Answers to the questions, by their keys. */
  onQuestions(questions: Question[]): Promise<Json>;
  signal: AbortSignal;
}

export const serverEndpoint = (server: string) => `/mcp/servers/${encodeURIComponent(server)}`;

export function toToolCall(name: string, args: Json): McpRequest {
  return { endpoint: '/mcp', method: 'tools/call', params: { name, arguments: args } };
}

export function toMessage({ method, params }: McpRequest): Json {
  return {
    jsonrpc: '2.0',
    id: 1,
    method,
    params: {
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': protocolVersion,
        'io.modelcontextprotocol/clientInfo': { name: 'mcp-aggregator-dashboard', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {}, url: {} }, sampling: {} },
        progressToken: 'progress',
      },
    },
  };
}

export async function callMcp(request: McpRequest, handlers: CallHandlers): Promise<Json> {
  const message = toMessage(request);
  let params = message.params as Json;
  for (;;) {
    const result = await send(request, { ...message, params }, handlers);
    if (result.resultType !== 'input_required') return result;
    const asked = isObject(result.inputRequests) ? result.inputRequests : {};
    const questions = Object.entries(asked).map(([key, question]) => toQuestion(key, question));
    const inputResponses = await handlers.onQuestions(questions);
    params = { ...(message.params as Json), inputResponses, requestState: result.requestState };
  }
}

function toQuestion(key: string, question: unknown): Question {
  const { method, params } = isObject(question) ? question : {};
  return { key, method: String(method), params: isObject(params) ? params : {} };
}

async function send(
  { endpoint, method, params }: McpRequest,
  message: Json,
  { onProgress, signal }: CallHandlers,
): Promise<Json> {
  const name = params.name ?? params.uri;
  const response = await fetch(endpoint, {
    method: 'POST',
    signal,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': protocolVersion,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': toHeader(name) }),
    },
    body: JSON.stringify(message),
  }).catch((error: unknown) => {
    if (signal.aborted) throw error;
    throw new ApiError(0, 'UNREACHABLE', 'The aggregator does not respond. Check that it is running.');
  });
  const streamed = response.headers.get('content-type')?.includes('text/event-stream') === true;
  if (!streamed) return toResult(await response.text(), response.status);
  for await (const { data } of eventsIn(response)) {
    const part = JSON.parse(data) as Json;
    if (part.method === 'notifications/progress') onProgress(part.params as unknown as Progress);
    if ('id' in part && ('result' in part || 'error' in part)) return toResult(data, response.status);
  }
  throw new ApiError(0, 'UNREACHABLE', 'The connection closed before the result arrived.');
}

/** Names with other characters are sent as base64 (MCP 2026-07-28). */
function toHeader(name: string): string {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(name) && !name.startsWith('=?base64?')) return name;
  return `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(name)))}?=`;
}

function toResult(text: string, status: number): Json {
  const message: unknown = text.startsWith('{') ? JSON.parse(text) : {};
  const { result, error, detail } = isObject(message) ? message : {};
  if (isObject(result)) return result;
  const reason = isObject(error) ? error.message : (detail ?? `The aggregator returned HTTP ${status}.`);
  throw new ApiError(status, 'CALL_FAILED', String(reason));
}
