/** Arguments and results of the latest calls, for admins: bounded, in this process only, with known secrets masked. */
import type { PayloadKeeper } from '../routing/router.ts';
import type { Secrets } from '../security/secrets.ts';

interface PayloadPart {
  json: string;
  /** Size of the complete text, even if it was cut. */
  bytes: number;
  cut: boolean;
}

interface Payload {
  server: string;
  tool: string;
  arguments: PayloadPart;
  result?: PayloadPart;
  error?: PayloadPart;
}

export interface Payloads extends PayloadKeeper {
  find(callId: string): Payload | undefined;
}

const callsKept = 500;
const partBytes = 16_384;

export function createPayloads(secrets: Secrets): Payloads {
  const kept = new Map<string, Payload>();

  function toPart(value: unknown, serverId: string): PayloadPart {
    // Mask before cutting: a secret that is cut in two would no longer be recognized.
    const json = JSON.stringify(secrets.maskJson(value, serverId));
    const bytes = Buffer.byteLength(json);
    return bytes <= partBytes ? { json, bytes, cut: false } : { json: beginningOf(json), bytes, cut: true };
  }

  return {
    keepArguments({ call_id, server, server_id, tool }, args = {}) {
      kept.set(call_id, { server, tool, arguments: toPart(args, server_id) });
      const [oldest] = kept.keys();
      if (kept.size > callsKept && oldest !== undefined) kept.delete(oldest);
    },
    keepEnd({ call_id, server_id }, part, value) {
      const payload = kept.get(call_id);
      if (payload !== undefined) payload[part] = toPart(value, server_id);
    },
    find: (callId) => kept.get(callId),
  };
}

/** Copies the text, because a slice would keep the complete string in memory. */
function beginningOf(text: string): string {
  const whole = Buffer.from(text.slice(0, partBytes));
  let end = Math.min(partBytes, whole.length);
  // Do not cut within a surrogate pair.
  while (end > 0 && ((whole[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return whole.toString('utf8', 0, end);
}
