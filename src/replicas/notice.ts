/** Serialization of replicated changes. */
import { z } from 'zod';
import { type ReplicatedChange, replicatedTopics } from '../changes.ts';

/** The statuses of the replica changed; the others read them immediately, not in order with other changes. */
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

/** Undefined for our own notices and for unknown topics of other versions. */
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
