/** The body of a POST: JSON of a bounded size and depth, then JSON-RPC messages. */
import type { IncomingMessage } from 'node:http';
import { AppError } from '../errors.ts';
import { parseJson } from '../exact-json.ts';
import { envelopeProblem, isMessage, type RpcMessage, rpcCodes } from '../json-rpc.ts';
import { scanDocument } from '../json-scanner.ts';
import { isBodyTooDeep, maxBodyDepth } from '../json-size.ts';
import { ProtocolError } from './adapt-result.ts';

export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  requireJson(request);
  return parseBody(await readBody(request, maxBytes));
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
  const scanned = scanDocument(bytes);
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

function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    request.on('data', (part: Buffer) => {
      length += part.length;
      if (length <= limit) return void parts.push(part);
      request.removeAllListeners('data').resume();
      reject(new AppError('BODY_TOO_LARGE', `The body is larger than ${limit} bytes`));
    });
    request.on('end', () => {
      const [only] = parts;
      resolve(parts.length === 1 && only !== undefined ? only : Buffer.concat(parts));
    });
    request.on('error', () =>
      reject(new ProtocolError(rpcCodes.invalidRequest, 'The request body ended early', { status: 400 })),
    );
  });
}
