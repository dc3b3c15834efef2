import { describe, RpcError } from '../errors.ts';
import { rpcCodes } from '../json-rpc.ts';
import type { Session } from '../upstream/session.ts';
import type { ProbeOutcome } from './verdict.ts';

const probeTimeoutMs = 5_000;

export async function probeUrl(url: string): Promise<ProbeOutcome> {
  const started = performance.now();
  try {
    const { request } = await import('undici'); // a hundred modules, which few servers need
    const { statusCode, body } = await request(url, { signal: AbortSignal.timeout(probeTimeoutMs) });
    await body.dump();
    return { kind: 'status', status: statusCode, ms: performance.now() - started };
  } catch (error) {
    return { kind: 'failed', reason: reasonOf(error, probeTimeoutMs) };
  }
}

export async function probeSession(session: Session, timeoutMs = probeTimeoutMs): Promise<ProbeOutcome> {
  const started = performance.now();
  const ask = (method: string) => session.request(method, {}, { signal: AbortSignal.timeout(timeoutMs) });
  try {
    await ask(session.era === 'modern' ? 'server/discover' : 'ping').catch((error: unknown) => {
      if (!(error instanceof RpcError)) throw error;
      // Any answer counts; a server without ping gets a request that every server supports.
      if (error.code === rpcCodes.methodNotFound && session.capabilities.tools !== undefined) return ask('tools/list');
    });
    return { kind: 'answered', ms: performance.now() - started };
  } catch (error) {
    // A server that reports progress on its calls is alive, even if it does not answer the ping.
    if (isTimeout(error) && session.heardAt > started) return { kind: 'answered', ms: performance.now() - started };
    return { kind: 'failed', reason: reasonOf(error, timeoutMs) };
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError';
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (isTimeout(error)) return `no response within ${timeoutMs / 1_000} s`;
  return describe(error);
}
