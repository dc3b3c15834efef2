import { setTimeout as delay } from 'node:timers/promises';
import type { z } from 'zod';
import type { detailView } from '../http/views.ts';
import { type Client, serverPath } from './client.ts';

export type ServerDetail = z.infer<typeof detailView>;

const pollMs = 150;
/** A server that lists no tools leaves no trace of it, so the wait for its tools has an end. */
const discoveryMs = 5_000;

/** Waits until a server is connected and its tools are known, or until its attempts have failed. */
export async function awaitSettled(
  client: Client,
  name: string,
  update: (text: string) => void,
): Promise<ServerDetail> {
  let connectedAt: number | undefined;
  for (;;) {
    const server = await client.get<ServerDetail>(serverPath(name));
    if (server.status === 'CONNECTED' || server.status === 'DEGRADED') {
      connectedAt ??= Date.now();
      update(`${name}: connected, discovering its tools`);
      if (server.tool_count > 0 || Date.now() - connectedAt > discoveryMs) return server;
    } else if (server.status !== 'CONNECTING' && server.status !== 'DISCONNECTING') {
      return server;
    } else {
      update(`${name}: ${server.status.toLowerCase()}`);
    }
    await delay(pollMs);
  }
}
