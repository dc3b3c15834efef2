/** The resources that one session follows: the address the client uses, and where it leads. */
import { type JsonObject, rpcCodes } from '../json-rpc.ts';
import type { Router } from '../routing/router.ts';
import { requireRole } from '../security/policy.ts';
import { ProtocolError } from './adapt-result.ts';
import { type McpCall, maxSubscriptions, type Peer } from './peer.ts';
import type { ResourceOwners } from './resource-owners.ts';

export interface ResourceSubscriptions {
  subscribe(call: McpCall): Promise<JsonObject>;
  unsubscribe(uri: string): Promise<JsonObject>;
  /** Those of the session before it was opened again. A resource that is not listed yet is followed when it is. */
  restore(caller: () => Peer, uris?: readonly string[]): Promise<unknown>;
  uris(): string[];
  /** A resource changed, by the server's id and its own address for it: the addresses under which the client knows it. */
  followed(serverId: string, uri: string): string[];
  close(): void;
}

interface Subscription {
  key: string;
  opened: Promise<() => Promise<void>>;
}

/** It is held, and stored, as long as the subscription lasts. */
const maxUriLength = 8_192;

const keyOf = (serverId: string, uri: string) => `${serverId} ${uri}`;

export function createResourceSubscriptions(router: Router, owners: ResourceOwners): ResourceSubscriptions {
  const subscriptions = new Map<string, Subscription>();
  const unrestored = new Set<string>();

  function begin(caller: Peer, uri: string): Subscription {
    requireRole(caller.principal, 'caller');
    if (subscriptions.size >= maxSubscriptions)
      throw new ProtocolError(
        rpcCodes.invalidParams,
        `Too many subscriptions in this session (limit: ${maxSubscriptions})`,
      );
    const { server, uri: theirs } = owners.find(caller.scope, uri, caller.principal);
    const subscription = { key: keyOf(server.id, theirs), opened: router.subscribe(server, theirs, caller) };
    subscriptions.set(uri, subscription);
    // The client that waits for it gets the error as its answer.
    subscription.opened.catch(() => subscriptions.get(uri) === subscription && subscriptions.delete(uri));
    return subscription;
  }

  return {
    async subscribe(call) {
      const { uri } = call.params;
      if (typeof uri !== 'string') throw new ProtocolError(rpcCodes.invalidParams, 'params.uri must be a string');
      if (uri.length > maxUriLength)
        throw new ProtocolError(rpcCodes.invalidParams, `params.uri may have at most ${maxUriLength} characters`);
      await (subscriptions.get(uri) ?? begin(call.caller, uri)).opened;
      return {};
    },
    async unsubscribe(uri) {
      const subscription = subscriptions.get(uri);
      subscriptions.delete(uri);
      unrestored.delete(uri);
      const release = await subscription?.opened;
      await release?.();
      return {};
    },
    restore(caller, uris = []) {
      const restored: Promise<unknown>[] = [];
      for (const uri of uris) unrestored.add(uri);
      for (const uri of unrestored) {
        try {
          restored.push(begin(caller(), uri).opened);
          unrestored.delete(uri);
        } catch {
          // Not listed yet after a start, or removed meanwhile, maybe with all that the session is offered.
        }
      }
      return Promise.allSettled(restored);
    },
    uris: () => [...subscriptions.keys(), ...unrestored],
    followed(serverId, uri) {
      const key = keyOf(serverId, uri);
      return [...subscriptions].flatMap(([known, subscription]) => (subscription.key === key ? [known] : []));
    },
    close() {
      // Release: the servers may be gone as well, and what is left of a subscription ends with their sessions.
      for (const { opened } of subscriptions.values()) opened.then((release) => release()).catch(() => undefined);
    },
  };
}
