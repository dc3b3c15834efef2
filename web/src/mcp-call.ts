/** A tool call as an MCP client (2026-07-28), with progress and input requests; answers are sent with a repeated call. */
import { ApiError, type Json } from './api.ts';
import { eventsIn } from './event-stream.ts';
import { isObject } from './schema.ts';

const protocolVersion = '2026-07-28';

export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

/** A question of the server: a form to fill in, or a page to visit. */
export interface Question {
  key: string;
  method: string;
  params: Json;
}

export interface CallHandlers {
  onProgress(progress: Progress): void;
  /** Answers to the questions, by their keys. */
  onQuestions(questions: Question[]): Promise<Json>;
  signal: AbortSignal;
}

export function toMcpRequest(name: string, args: Json): Json {
  return {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name,
      arguments: args,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': protocolVersion,
        'io.modelcontextprotocol/clientInfo': { name: 'mcp-aggregator-dashboard', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {}, url: {} } },
        progressToken: 'progress',
      },
    },
  };
}

export async function callTool(name: string, args: Json, handlers: CallHandlers): Promise<Json> {
  const request = toMcpRequest(name, args);
  let params = request.params as Json;
  for (;;) {
    const result = await send({ ...request, params }, name, handlers);
    if (result.resultType !== 'input_required') return result;
    const asked = isObject(result.inputRequests) ? result.inputRequests : {};
    const questions = Object.entries(asked).map(([key, question]) => toQuestion(key, question));
    const inputResponses = await handlers.onQuestions(questions);
    params = { ...(request.params as Json), inputResponses, requestState: result.requestState };
  }
}

function toQuestion(key: string, question: unknown): Question {
  const { method, params } = isObject(question) ? question : {};
  return { key, method: String(method), params: isObject(params) ? params : {} };
}

async function send(message: Json, name: string, { onProgress, signal }: CallHandlers): Promise<Json> {
  const response = await fetch('/mcp', {
    method: 'POST',
    signal,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': protocolVersion,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify(message),
  });
  const streamed = response.headers.get('content-type')?.includes('text/event-stream') === true;
  if (!streamed) return toResult(JSON.parse(await response.text()), response.status);
  for await (const { data } of eventsIn(response)) {
    const part = JSON.parse(data) as Json;
    if (part.method === 'notifications/progress') onProgress(part.params as unknown as Progress);
    if ('id' in part && ('result' in part || 'error' in part)) return toResult(part, response.status);
  }
  throw new ApiError(0, 'UNREACHABLE', 'The connection closed before the answer arrived.');
}

function toResult(message: unknown, status: number): Json {
  const { result, error } = isObject(message) ? message : {};
  if (isObject(result)) return result;
  const text = isObject(error) ? String(error.message) : `The aggregator returned HTTP ${status}.`;
  throw new ApiError(status, 'CALL_FAILED', text);
}
