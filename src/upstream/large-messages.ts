/** Large messages are put together and located by a worker thread: on the event loop their bytes only pass. */
import type { RpcMessage } from '../json-rpc.ts';
import { type LocatedAnswer, toAnswer } from '../raw-result.ts';
import { createWorkerTask, moduleBeside } from '../worker-task.ts';

interface LargeMessage {
  bytes: Buffer;
  /** Undefined where only the parser can tell what it is. */
  answer?: RpcMessage;
}

export interface LocatedMessage {
  bytes: Uint8Array<ArrayBuffer>;
  located: LocatedAnswer | undefined;
}

/** Larger ones that only the parser can read are refused: to parse them would delay other calls. */
export const maxParsedBytes = 8_388_608;

const deadlineMs = 10_000;
const module = moduleBeside(import.meta.url, 'large-message-worker');
const task = createWorkerTask<Uint8Array[], LocatedMessage>(module, { deadlineMs });

export async function readLarge(parts: readonly Buffer[]): Promise<LargeMessage> {
  const given = parts.map(withOwnMemory);
  const { bytes: found, located } = await task.run(
    given,
    given.map(({ buffer }) => buffer),
  );
  const bytes = Buffer.from(found.buffer, found.byteOffset, found.byteLength);
  return { bytes, answer: located && toAnswer(bytes, located) };
}

/** Memory is handed over as a whole: what shares its memory with other bytes is copied. */
function withOwnMemory(part: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = part;
  return buffer instanceof ArrayBuffer && byteLength === buffer.byteLength
    ? new Uint8Array(buffer)
    : new Uint8Array(part);
}
