import { setTimeout as delay } from 'node:timers/promises';
import type { ServerDetail } from './answers.ts';
import { type Client, serverPath } from './client.ts';

const pollMs = 150;
/** A server without tools reports no discovery, so waiting for its tools needs a timeout. */
const discoveryMs = 5_000;

export type Settled = ServerDetail & { discovery_error?: string };

/** Waits until a server is connected and its tools are known, or until its attempts have failed. */
export async function awaitSettled(client: Client, name: string, update: (text: string) => void): Promise<Settled> {
  let connectedAt: number | undefined;
  for (;;) {
    const server = await client.get<ServerDetail>(serverPath(name));
    if (server.status === 'CONNECTED' || server.status === 'DEGRADED') {
      connectedAt ??= Date.now();
      update(`${name}: connected, discovering its tools`);
      if (server.tool_count > 0) return server;
      const problem = await findDiscoveryError(client, name);
      if (problem !== undefined) return { ...server, discovery_error: problem };
      if (Date.now() - connectedAt > discoveryMs) return server;
    } else if (server.status !== 'CONNECTING' && server.status !== 'DISCONNECTING') {
      return server;
    } else {
      const last = server.stderr_tail?.trim().split('\n').at(-1);
      update(`${name}: ${server.status.toLowerCase()}${last ? `: ${last}` : ''}`);
    }
    await delay(pollMs);
  }
}

interface History {
  history: { event_type: string; details: unknown }[];
}

/** The error of the last discovery, if it failed. */
export async function findDiscoveryError(client: Client, name: string): Promise<string | undefined> {
  const { history } = await client.get<History>(`${serverPath(name)}/history?limit=20`);
  const last = history.find(({ event_type: type }) => ['CONNECTED', 'DISCOVERED', 'DISCOVERY_FAILED'].includes(type));
  return last?.event_type === 'DISCOVERY_FAILED' ? String((last.details as { error?: unknown }).error) : undefined;
}
