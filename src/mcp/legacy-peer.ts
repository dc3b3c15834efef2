/** The client of a legacy session, as its `initialize` and its latest request show it. */
import { isObject, type JsonObject, legacyVersions, newestLegacy } from '../json-rpc.ts';
import type { Principal } from '../security/auth.ts';
import type { SessionOwner } from '../upstream/owned-sessions.ts';
import { canAnswer } from './client-questions.ts';
import type { Peer } from './peer.ts';
import type { Scope, ScopeRequest } from './scope.ts';

export interface Opener {
  principal: Principal;
  address: string;
  offer: ScopeRequest;
  /** Asked for every request: a profile may change while a session is open. */
  scope: (principal: Principal, ownerKey: string) => Scope;
  kind: 'streamable' | 'sse';
}

export interface LegacyPeer {
  readonly current: Peer;
  /** With what it is offered now. */
  refresh(): Peer;
  /** By the params of `initialize`. */
  introduce(params: JsonObject): void;
  /** An identity provider may give another role than before. */
  recognise(principal: Principal): void;
}

/** `owner` takes what belongs to the client alone. */
export function createLegacyPeer(
  params: JsonObject,
  { principal, address, scope }: Opener,
  owner: Omit<SessionOwner, 'client' | 'isAskable'>,
): LegacyPeer {
  let current = describe(params, principal);

  function describe(input: JsonObject, who: Principal): Peer {
    const client = clientOf(input);
    const own = { ...owner, client, isAskable: canAnswer(client.capabilities) };
    return {
      era: 'legacy',
      protocolVersion: legacyVersions.find((version) => version === input.protocolVersion) ?? newestLegacy,
      principal: who,
      address,
      scope: scope(who, owner.key),
      client,
      searcher: owner.key,
      owner: () => own,
    };
  }

  return {
    get current() {
      return current;
    },
    refresh() {
      const offered = scope(current.principal, owner.key);
      if (offered !== current.scope) current = { ...current, scope: offered };
      return current;
    },
    introduce(input) {
      current = describe(input, current.principal);
    },
    recognise(who) {
      if (who !== current.principal) current = { ...current, principal: who };
    },
  };
}

/** Tasks of 2025-11-25 cannot be carried over this hop, so they are not promised to servers. */
function clientOf({ capabilities, clientInfo }: JsonObject): Peer['client'] {
  const { tasks: _tasks, ...carried } = isObject(capabilities) ? capabilities : {};
  const info = isObject(clientInfo) ? clientInfo : undefined;
  // Servers of these revisions send log messages until a level is named.
  return { capabilities: carried, info, defaultLogLevel: 'debug' };
}
