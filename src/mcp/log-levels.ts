/** Which of a server's log messages reach which client. */
import { Cancellation } from '../cancellation.ts';
import { RpcError } from '../errors.ts';
import type { JsonObject } from '../json-rpc.ts';
import { ownershipOf } from '../registry/session-ownership.ts';
import type { Router } from '../routing/router.ts';
import type { Peer, ServerCall } from './peer.ts';

const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

export const isLogLevel = (level: unknown): level is string => typeof level === 'string' && levels.includes(level);

interface LogLevels {
  /** A legacy server has one level per session: it is set to the lowest that any client requested. */
  ensure(call: ServerCall): Promise<void> | undefined;
}

export function createLogLevels(router: Router): LogLevels {
  const current = new Map<string, number>();

  async function set({ caller, server, trace }: ServerCall, level: string, session: string): Promise<void> {
    const call = { method: 'logging/setLevel', params: { level }, caller, server, trace, signal: new Cancellation() };
    try {
      await router.relay(call);
    } catch (error) {
      if (error instanceof RpcError) return; // it has its own idea of levels: no reason to fail the call
      current.delete(session);
      throw error;
    }
  }

  return {
    ensure(call) {
      const { caller, server } = call;
      const wanted = caller.client.logLevel;
      if (wanted === undefined || server.era === 'modern' || server.capabilities?.logging === undefined)
        return undefined;
      const owner = ownershipOf(server).ownership === 'client' ? caller.owner(server).key : '';
      const session = `${server.id} ${server.connected_at} ${owner}`;
      const level = levels.indexOf(wanted);
      if ((current.get(session) ?? levels.length) <= level) return undefined;
      if (current.size > 10_000) current.clear();
      current.set(session, level);
      return set(call, wanted, session);
    },
  };
}

/** The new era hears no log messages unless it named a level; the old one leaves it to the server until one is named. */
export function wants({ era, client }: Peer, method: string, { level }: JsonObject): boolean {
  if (method !== 'notifications/message') return true;
  if (client.logLevel === undefined) return era === 'legacy';
  return typeof level === 'string' && levels.indexOf(level) >= levels.indexOf(client.logLevel);
}
