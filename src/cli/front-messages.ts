/** JSON-RPC messages between a client on stdin and an endpoint over HTTP: reading them, and the headers they travel with. */
import type { Readable } from 'node:stream';
import { createParser } from 'eventsource-parser';
import { parseJson } from '../exact-json.ts';
import { encodeHeader, hopMeta, isMessage, isObject, namedBy, type RpcMessage } from '../json-rpc.ts';

/** The session of a client of the revisions with `initialize`, as its headers name it. */
interface SessionName {
  id: string | undefined;
  version: string;
}

/** Not `readline`, which also splits lines at characters that JSON may contain. */
export async function* linesOf(input: Readable): AsyncGenerator<string> {
  let begun: string[] = [];
  for await (const chunk of input.setEncoding('utf8')) {
    const [first = '', ...more] = String(chunk).split('\n');
    begun.push(first);
    if (more.length === 0) continue;
    yield begun.join('');
    begun = [more.pop() ?? ''];
    yield* more;
  }
  yield begun.join('');
}

/** The values on one line, a batch as its parts; undefined for what is not JSON. */
export function parseLine(line: string): unknown[] {
  const parsed = parse(line);
  return Array.isArray(parsed) ? parsed : [parsed];
}

/** Reads the messages of an answer: plain JSON, or events whose ids resume the stream. */
export async function readMessages(
  response: Response,
  onMessage: (message: RpcMessage) => void,
  onId?: (id: string) => void,
): Promise<void> {
  if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
    for (const message of parseLine(await response.text())) if (isMessage(message)) onMessage(message);
    return;
  }
  const parser = createParser({
    onEvent({ id, data }) {
      if (id !== undefined) onId?.(id);
      const message = data === '' ? undefined : parse(data);
      if (isMessage(message)) onMessage(message);
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
}

/** `client` ties the messages of one client together, which the revision of 2026-07-28 does not. */
export function headersOf(
  message: RpcMessage,
  { client, session }: { client: string; session: SessionName | undefined },
): Record<string, string> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    // This client cannot repeat parameters in headers.
    'mcp-aggregator-front': 'stdio',
    'mcp-aggregator-client': client,
  };
  const version = modernVersionOf(message);
  if (version !== undefined) return { ...headers, ...modernHeaders(message, version) };
  const begins = 'method' in message && message.method === 'initialize';
  return session?.id === undefined || begins ? headers : { ...headers, ...sessionHeaders(session) };
}

export const sessionHeaders = ({ id = '', version }: SessionName): Record<string, string> => ({
  'mcp-session-id': id,
  'mcp-protocol-version': version,
});

function modernHeaders(message: RpcMessage, version: string): Record<string, string> {
  if (!('method' in message)) return { 'mcp-protocol-version': version };
  const name = message.params?.[namedBy[message.method] ?? ''];
  return {
    'mcp-protocol-version': version,
    'mcp-method': message.method,
    ...(typeof name === 'string' ? { 'mcp-name': encodeHeader(name) } : {}),
  };
}

function modernVersionOf(message: RpcMessage): string | undefined {
  const params = 'method' in message ? message.params : undefined;
  const meta = isObject(params?._meta) ? params._meta : {};
  const version = meta[hopMeta.protocolVersion];
  return typeof version === 'string' ? version : undefined;
}

export const isModern = (message: RpcMessage): boolean => modernVersionOf(message) !== undefined;

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined; // handled by the caller
  }
}
