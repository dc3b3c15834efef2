/** What a legacy session tells its client without being asked: on the standalone stream, or on that of a request. */
import type { Topics } from '../changes.ts';
import type { JsonObject } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import { wants } from './log-levels.ts';
import type { Peer } from './peer.ts';
import type { ResourceSubscriptions } from './resource-subscriptions.ts';
import type { Outlet } from './session-streams.ts';

const known = new Set(['notifications/message', 'notifications/progress', 'notifications/cancelled']);

/** Of an extension, or of a revision to come: passed on as it is. */
export function isUnknownNotification(method: string): boolean {
  return !known.has(method) && !/^notifications\/(?:(?:tools|prompts|resources)\/|tasks|subscriptions\/)/.test(method);
}

export interface SessionNotices {
  send(outlet: Outlet, method: string, params: JsonObject): void;
  /** A notification of a server session that only this client uses. */
  handleOwn(method: string, params: JsonObject, server: Server): void;
  handleListChange(changed: Pick<Topics['catalog.changed'], 'tools' | 'prompts' | 'resources'>): void;
  /** By the server's id and its own address of the resource. */
  handleResourceUpdate(serverId: string, uri: string): void;
}

export function createSessionNotices(
  peer: () => Peer,
  standalone: Outlet,
  subscriptions: ResourceSubscriptions,
): SessionNotices {
  function send(outlet: Outlet, method: string, params: JsonObject): void {
    if (wants(peer(), method, params)) outlet.send({ jsonrpc: '2.0', method, params });
  }

  function handleResourceUpdate(serverId: string, theirs: string): void {
    for (const uri of subscriptions.followed(serverId, theirs))
      standalone.send({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } });
  }

  return {
    send,
    handleOwn(method, params, server) {
      // The client may know the resource by another address than the server does.
      if (method !== 'notifications/resources/updated') send(standalone, method, params);
      else if (typeof params.uri === 'string') handleResourceUpdate(server.id, params.uri);
    },
    handleListChange(changed) {
      for (const list of ['tools', 'prompts', 'resources'] as const)
        if (changed[list]) standalone.send({ jsonrpc: '2.0', method: `notifications/${list}/list_changed` });
    },
    handleResourceUpdate,
  };
}
