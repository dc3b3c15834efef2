/** What replicas tell each other: which part of the shared database is to be read again. Never the data itself. */
import { z } from 'zod';

const outcome = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('status'), status: z.int(), ms: z.number() }),
  z.object({ kind: z.literal('answered'), ms: z.number() }),
  z.object({ kind: z.literal('failed'), reason: z.string() }),
]);

const change = z.discriminatedUnion('kind', [
  /** A server was registered, changed, removed, logged in to, or is to be connected or disconnected. */
  z.object({ kind: z.literal('server'), id: z.string() }),
  /** The stored tools, prompts or resources of a server are others. */
  z.object({ kind: z.literal('tools'), id: z.string() }),
  /** To whoever has the server's lease: discover it again. */
  z.object({ kind: z.literal('discover'), id: z.string(), kinds: z.array(z.string()).optional() }),
  /** A health check, by the one that has the lease. */
  z.object({ kind: z.literal('health'), id: z.string(), outcome }),
  z.object({ kind: z.literal('statuses') }),
  z.object({ kind: z.literal('tokens') }),
  /** Somebody signed out of the dashboard. */
  z.object({ kind: z.literal('sessions') }),
  z.object({ kind: z.literal('profiles') }),
  z.object({ kind: z.literal('skills') }),
  z.object({ kind: z.literal('rules') }),
  z.object({ kind: z.literal('everything') }),
]);
export type Change = z.infer<typeof change>;

const envelope = z.object({ from: z.string(), change });

export function toNotice(from: string, change: Change): string {
  return JSON.stringify({ from, change });
}

/** Undefined for what is our own, or of a version that says things we don't know. */
export function fromNotice(text: string, self: string): Change | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined; // anybody with access to the database may use the channel
  }
  const { data } = envelope.safeParse(parsed);
  return data === undefined || data.from === self ? undefined : data.change;
}
