import type { IncomingMessage, ServerResponse } from 'node:http';
import { openEventStream, sendJson, writeEvent } from './http-wire.ts';
import {
  errorCodes,
  errorMessage,
  isObject,
  type JsonObject,
  objectAt,
  RpcError,
  type RpcMessage,
} from './json-rpc.ts';
import { answerModern, checkEnvelope, isKnownMethod, type ModernRequest } from './modern-exchange.ts';
import type { Program } from './program.ts';

/** Stateless Streamable HTTP of 2026-07-28: one POST, one answer, as JSON or, once something was notified, as a stream. */
export async function postModern(
  program: Program,
  request: IncomingMessage,
  response: ServerResponse,
  message: RpcMessage,
  shutDown: () => void,
): Promise<void> {
  const { id, method } = message;
  if (id == null || method === undefined) return void response.writeHead(202).end();
  const disconnected = new AbortController();
  response.on('close', () => disconnected.abort());
  const wire = {
    signal: disconnected.signal,
    notify(notification: RpcMessage) {
      if (!response.headersSent) openEventStream(response, { 'x-accel-buffering': 'no' });
      writeEvent(response, { data: JSON.stringify(notification) });
    },
    hangUp: () => void response.destroy(),
    shutDown,
  };
  const answer = await settle(program, request, { ...message, id, method }, wire);
  if (disconnected.signal.aborted) return;
  if (!response.headersSent) return sendJson(response, statusOf(answer), answer);
  writeEvent(response, { data: JSON.stringify(answer) });
  response.end();
}

type Wire = Parameters<typeof answerModern>[2];

async function settle(
  program: Program,
  request: IncomingMessage,
  message: ModernRequest,
  wire: Wire,
): Promise<RpcMessage> {
  try {
    // Before the envelope: a version in the body that differs from the header's is a mismatch, supported or not.
    checkVersionHeader(request, message);
    checkEnvelope(message);
    if (!isKnownMethod(program, message.method)) {
      throw new RpcError(errorCodes.methodNotFound, `Method not found: ${message.method}`);
    }
    checkHeaders(program, request, message);
    return { jsonrpc: '2.0', id: message.id, result: await answerModern(program, message, wire) };
  } catch (error) {
    return errorMessage(message.id, error);
  }
}

function statusOf({ error }: RpcMessage): number {
  if (!error) return 200;
  if (error.code === errorCodes.methodNotFound) return 404;
  // A request refused for its envelope or headers never ran; errors of a handler that ran keep 200.
  const refused = [errorCodes.headerMismatch, errorCodes.missingClientCapability, errorCodes.unsupportedVersion];
  return refused.some((code) => code === error.code) || error.message.startsWith('params._meta lacks') ? 400 : 200;
}

/** Routers act on the headers and servers on the body, so the two must not tell different stories. */
function checkHeaders(program: Program, request: IncomingMessage, message: ModernRequest): void {
  const { params = {}, method } = message;
  expectHeader(request, 'mcp-method', method);
  const name = namedBy(method, params);
  if (name !== undefined) expectHeader(request, 'mcp-name', name);
  if (method === 'tools/call') checkParameterHeaders(program, request, params);
}

function checkVersionHeader(request: IncomingMessage, { params }: ModernRequest): void {
  const version = objectAt(params, '_meta')['io.modelcontextprotocol/protocolVersion'];
  if (version !== undefined) expectHeader(request, 'mcp-protocol-version', version);
}

function namedBy(method: string, params: JsonObject): unknown {
  if (method === 'tools/call' || method === 'prompts/get') return params.name;
  if (method === 'resources/read') return params.uri;
  return method.startsWith('tasks/') ? params.taskId : undefined;
}

function checkParameterHeaders(program: Program, request: IncomingMessage, params: JsonObject): void {
  const tool = program.tools.get(String(params.name));
  const properties = objectAt(objectAt(tool?.definition, 'inputSchema'), 'properties');
  const args = objectAt(params, 'arguments');
  for (const [property, schema] of Object.entries(properties)) {
    const header = isObject(schema) ? schema['x-mcp-header'] : undefined;
    if (header === undefined) continue;
    const value = args[property];
    expectHeader(request, `mcp-param-${header}`.toLowerCase(), value ?? undefined);
  }
}

function expectHeader(request: IncomingMessage, name: string, expected: unknown): void {
  const raw = request.headers[name];
  const actual = raw === undefined ? undefined : decodeHeader(String(raw).trim(), name);
  if (actual === (expected === undefined ? undefined : String(expected))) return;
  throw new RpcError(errorCodes.headerMismatch, `Header ${name} does not match the body`);
}

function decodeHeader(value: string, name: string): string {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.toString('base64') === encoded) return bytes.toString('utf8');
  throw new RpcError(errorCodes.headerMismatch, `Header ${name} is not valid Base64`);
}
