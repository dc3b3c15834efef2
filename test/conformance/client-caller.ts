/** An MCP client of the newest revision in a few lines, with a person who accepts every question as it stands. */

import { parameterHeaders } from '../../src/catalog/parameter-headers.ts';
import { isObject, type JsonObject } from '../../src/json-rpc.ts';
import { modernRequest } from '../support/modern-request.ts';

export interface McpCaller {
  request(method: string, params: JsonObject, headers?: Record<string, string>): Promise<JsonObject>;
  /** The link where to log in first, or undefined when the call was answered. */
  callTool(params: JsonObject): Promise<string | undefined>;
}

const clientInfo = { name: 'conformance-driver', version: '1.0.0' };
const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const maxRounds = 10;

export function createMcpCaller(url: string, token: string): McpCaller {
  const schemas = new Map<string, JsonObject>();

  async function request(method: string, params: JsonObject, more: Record<string, string> = {}): Promise<JsonObject> {
    const { message: sent, headers } = modernRequest(method, params, { capabilities, clientInfo });
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
        ...more,
      },
      body: JSON.stringify(sent),
    });
    const message = lastMessage(await response.text());
    if (isObject(message.error)) throw new Error(`${method}: ${JSON.stringify(message.error)}`);
    const result = isObject(message.result) ? message.result : {};
    if (method === 'tools/list' && Array.isArray(result.tools)) {
      for (const tool of result.tools) schemas.set(tool.name, tool.inputSchema);
    }
    return result;
  }

  return {
    request,
    async callTool(params) {
      const headers = parameterHeaders(schemas.get(String(params.name)) ?? {}, params.arguments);
      let sent = params;
      for (let round = 0; round < maxRounds; round += 1) {
        const result = await request('tools/call', sent, headers);
        if (result.resultType !== 'input_required') return undefined;
        const asked = Object.entries(isObject(result.inputRequests) ? result.inputRequests : {});
        const link = asked.map(([, question]) => loginLink(question)).find((found) => found !== undefined);
        if (link !== undefined) return link;
        const inputResponses = Object.fromEntries(asked.map(([key, question]) => [key, answerTo(question)]));
        const state = result.requestState === undefined ? {} : { requestState: result.requestState };
        sent = { ...params, inputResponses, ...state };
      }
      throw new Error('The server asks without end');
    },
  };
}

function loginLink(question: unknown): string | undefined {
  const params = isObject(question) && isObject(question.params) ? question.params : {};
  return params.mode === 'url' && typeof params.url === 'string' ? params.url : undefined;
}

/** A form is accepted with its defaults, as SEP-1034 wants it. */
function answerTo(question: unknown): JsonObject {
  const { method, params } = isObject(question) ? question : {};
  if (method === 'roots/list') return { roots: [] };
  if (method === 'sampling/createMessage') {
    return { role: 'assistant', model: 'none', content: { type: 'text', text: 'answer' } };
  }
  const schema = isObject(params) && isObject(params.requestedSchema) ? params.requestedSchema : {};
  const properties = Object.entries(isObject(schema.properties) ? schema.properties : {});
  const content = Object.fromEntries(
    properties.flatMap(([name, property]) => {
      if (!isObject(property)) return [];
      if (property.default !== undefined) return [[name, property.default]];
      return property.type === 'boolean' ? [[name, true]] : property.type === 'string' ? [[name, 'text']] : [];
    }),
  );
  return { action: 'accept', content };
}

function lastMessage(text: string): JsonObject {
  const lines = text.startsWith('{') ? [text] : text.split('\n').filter((line) => line.startsWith('data: '));
  const messages = lines.map((line) => JSON.parse(line.replace(/^data: /, '')) as JsonObject);
  return messages.findLast((message) => message.result !== undefined || message.error !== undefined) ?? {};
}
