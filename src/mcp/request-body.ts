/** The body of a POST: JSON of a bounded size and depth, then JSON-RPC messages. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseJson } from '../exact-json.ts';
import { envelopeProblem, isMessage, type RpcMessage, rpcCodes } from '../json-rpc.ts';
import { scanDocument } from '../json-scanner.ts';
import { isBodyTooDeep, maxBodyDepth } from '../json-size.ts';
import type { RequestBodies } from '../request-bodies.ts';
import { ProtocolError } from './adapt-result.ts';

export async function readJson(
  request: IncomingMessage,
  response: ServerResponse,
  bodies: RequestBodies,
): Promise<unknown> {
  requireJson(request);
  return parseBody(await bodies.read(request, response));
}

export function expectMessage(value: unknown): RpcMessage {
  if (isMessage(value)) return value;
  throw new ProtocolError(rpcCodes.invalidRequest, `Not a JSON-RPC message: ${envelopeProblem(value)}`, {
    status: 400,
  });
}

function requireJson(request: IncomingMessage): void {
  const type = request.headers['content-type'] ?? '';
  if (type === 'application/json' || /^application\/json\b/i.test(type)) return;
  request.resume();
  throw new ProtocolError(rpcCodes.invalidRequest, 'Content-Type must be application/json', { status: 415 });
}

function parseBody(bytes: Buffer): unknown {
  const text = bytes.toString('utf8');
  // What is this short can't be nested too deeply, and looking for long numbers is all that is left to do.
  const scanned = bytes.length > maxBodyDepth ? scanDocument(bytes) : undefined;
  if (scanned !== undefined) return scanned.hasLongNumber ? parseJson(text) : JSON.parse(text);
  if (isBodyTooDeep(text))
    throw new ProtocolError(rpcCodes.invalidRequest, `The body is nested more than ${maxBodyDepth} levels deep`, {
      status: 400,
    });
  try {
    return parseJson(text);
  } catch {
    throw new ProtocolError(rpcCodes.parseError, 'The body is not valid JSON', { status: 400 });
  }
}
