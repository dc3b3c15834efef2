import { locateAnswer } from '../raw-result.ts';
import type { Worked } from '../worker-task.ts';
import type { LocatedMessage } from './large-messages.ts';

/** In the worker thread. */
export function work(parts: Uint8Array[]): Worked<LocatedMessage> {
  const bytes = joinParts(parts);
  return { output: { bytes, located: locateAnswer(Buffer.from(bytes.buffer)) }, transfer: [bytes.buffer] };
}

/** Memory of its own, which can be handed over. */
function joinParts(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
