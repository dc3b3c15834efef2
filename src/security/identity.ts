/**
 * Proves that a process owns a data directory, to others that can read the directory: by a key that is only there. The
 * command line asks for the proof before it sends a token, because any program can listen where an aggregator used to.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

export const identityKeyFile = 'identity-key';

/** The port is a part of it: another program cannot pass the question on to the aggregator and its answer back. */
export function proveIdentity(key: string, { nonce, port }: { nonce: string; port: number }): string {
  return createHmac('sha256', key).update(`aggregator ${port} ${nonce}`).digest('hex');
}

/** Header of a request with its proof. */
export const proofHeader = 'mcp-aggregator-proof';

/** The other direction: a request that only a reader of the data directory can have sent. */
export function proveRequest(key: string, { path, body }: { path: string; body: string }): string {
  const digest = createHash('sha256').update(body).digest('hex');
  return createHmac('sha256', key).update(`request ${path} ${digest}`).digest('hex');
}

/** Whether a request carries its proof. */
export function isProved(
  key: string,
  { header, path, body }: { header: unknown; path: string; body: string },
): boolean {
  return typeof header === 'string' && isSameProof(header, proveRequest(key, { path, body }));
}

export function isSameProof(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
