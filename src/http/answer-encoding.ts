/** Answers to GET that a client has already are not sent again (ETag), and the others are compressed. */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from 'node:zlib';
import { inPieces, isLong } from '../long-text.ts';

type Encoding = 'br' | 'gzip';

export interface EncodedAnswer {
  status?: 304;
  headers: Record<string, string | number>;
  body: string | Buffer | Readable;
}

/** Smaller ones fit into a packet or two as they are. */
const minCompressed = 1_400;
/** About as fast as gzip and a third smaller. */
const brotliQuality = 4;
const brotliParams = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality };
const compress = { br: promisify(brotliCompress), gzip: promisify(gzip) };

interface AnswerRequest {
  method: string;
  acceptEncoding: string;
  ifNoneMatch: string | undefined;
  status: number;
}

export async function encodeAnswer(text: string, request: AnswerRequest): Promise<EncodedAnswer> {
  const { method, acceptEncoding, ifNoneMatch, status } = request;
  // Only what a GET shows is compressed: answers that hold a new secret are answers to POST.
  if (method !== 'GET' || status !== 200) return asItIs(text);
  const etag = `W/"${createHash('sha1').update(text).digest('base64url')}"`;
  const headers = { etag, vary: 'accept-encoding' };
  if (ifNoneMatch?.split(',').some((one) => one.trim() === etag) === true) return { status: 304, headers, body: '' };
  const encoding = text.length < minCompressed ? undefined : chooseEncoding(acceptEncoding);
  if (encoding === undefined) return asItIs(text, headers);
  const encoded = { ...headers, 'content-encoding': encoding };
  if (!isLong(text)) {
    const body = await (encoding === 'br' ? compress.br(text, { params: brotliParams }) : compress.gzip(text));
    return { headers: { ...encoded, 'content-length': body.length }, body };
  }
  const stream = encoding === 'br' ? createBrotliCompress({ params: brotliParams }) : createGzip();
  return { headers: encoded, body: inPieces(text).pipe(stream) };
}

function asItIs(text: string, headers: EncodedAnswer['headers'] = {}): EncodedAnswer {
  if (!isLong(text)) return { headers, body: text };
  return { headers: { ...headers, 'content-length': Buffer.byteLength(text) }, body: inPieces(text) };
}

/** The first that we can: clients say with `q=0` what they cannot. */
export function chooseEncoding(accepted: string): Encoding | undefined {
  const names = accepted.split(',').flatMap((part) => {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    return parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) ? [] : [name];
  });
  return (['br', 'gzip'] as const).find((encoding) => names.includes(encoding));
}
