/** A replicated change as the text that goes from one replica to the others. */
import { z } from 'zod';
import { type ReplicatedChange, replicatedTopics } from '../changes.ts';

/** The replica's own statuses changed: the others read them at once. It does not wait behind other changes. */
interface StatusNotice {
  topic: 'replica.statuses';
  payload: Record<string, never>;
}

export type Notice = ReplicatedChange | StatusNotice;

const envelope = z.object({ from: z.string(), topic: z.string(), payload: z.unknown() });
const payloads: Record<string, z.ZodType> = { ...replicatedTopics, 'replica.statuses': z.object({}) };

export function toNotice(from: string, { topic, payload }: Notice): string {
  return JSON.stringify({ from, topic, payload });
}

/** Undefined for a notice of our own, or of a version that has other topics. */
export function fromNotice(text: string, self: string): Notice | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined; // any client of the database may use the channel
  }
  const { data } = envelope.safeParse(parsed);
  if (data === undefined || data.from === self || !Object.hasOwn(payloads, data.topic)) return undefined;
  const payload = payloads[data.topic]?.safeParse(data.payload);
  return payload?.success === true ? ({ topic: data.topic, payload: payload.data } as Notice) : undefined;
}
