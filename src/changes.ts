/**
 * Typed topics for changes. Modules publish and subscribe to the topics in the tables below. A replicated topic is also
 * sent to the other replicas, whose modules `follow` it. To find the subscribers of a topic, search for its name.
 */
import { z } from 'zod';
import type { ToolRow } from './store/schema.ts';
import type { ToolChanges } from './store/tools.ts';

/** Local topics stay in this process. */
interface LocalTopics {
  'server.registered': { server_id: string; name: string };
  'server.updated': { server_id: string; name: string };
  'server.renamed': { server_id: string; name: string; previous: string };
  'server.removed': { server_id: string; name: string };
  'server.status': { server_id: string; name: string; status: string; previous: string; error_message: string | null };
  /** A health check by this replica. */
  'server.checked': { server_id: string; name: string; ms: number | undefined; failed: boolean };
  'server.discovered': {
    server_id: string;
    name: string;
    tools: number;
    added: string[];
    changed: string[];
    removed: string[];
  };
  /** From the shared session, or a client's own session that does not handle it; with a principal, for that one only. */
  'server.notified': {
    server_id: string;
    name: string;
    method: string;
    params: Record<string, unknown>;
    principal_id?: string;
    /** From a session that only this client uses. */
    owner_key?: string;
  };
  /** The session that all callers share is open: its lists can be read. */
  'server.opened': { server_id: string };
  /** The lists of a server were read after it was opened, or could not be read. */
  'discovery.finished': { server_id: string };
  /** A line that a STDIO server wrote to stderr, masked. */
  'server.output': { server_id: string; text: string };
  /** A user logged in to the server, so a new connection attempt may succeed. */
  'server.logged_in': { server_id: string };
  'server.lists_changed': { server_id: string; kinds: string[] };
  /** The lists that a client's own session with a server offers are others now. */
  'own_lists.changed': { server_id: string; owner_key: string; kinds: string[] };
  /** A session that only one client used has ended. */
  'own_session.ended': { server_id: string; owner_key: string };
  /** With an owner: what that client alone sees. */
  'catalog.changed': {
    server_id: string;
    tools: boolean;
    prompts: boolean;
    resources: boolean;
    owner_key?: string;
  };
  /** A discovery here changed the stored tools of a server. */
  'tools.discovered': { server: { id: string; name: string }; toolChanges: ToolChanges };
  /** The stored tools were read again, after another replica discovered or classified them. */
  'tools.reloaded': { server: { id: string; name: string }; toolChanges: ToolChanges };
  /** These tools have other skills; the database has them. */
  'tools.classified': { tools: readonly ToolRow[] };
  /** Skills were added, changed or removed. `reloaded`: by another replica, or by a restored backup. */
  'skills.changed': { reloaded: boolean };
  /** With a principal: read with that principal's credentials, and visible to no other principal. */
  'resource.updated': { server_id: string; name: string; uri: string; principal_id?: string };
  /** As the server reported it, for the clients that follow the task. */
  'task.changed': { server_id: string; method: string; params: Record<string, unknown> };
  /**
   * A token was revoked or has expired, or an account has ended; its sessions and calls end. `suspended`: the user may
   * come back, so what is stored for them stays.
   */
  'principal.ended': { principal_id: string; suspended?: boolean };
  /** A user entered or removed a key for a server: sessions with the former one end. */
  'user_keys.changed': { server_id: string; user: string };
  /** Authentication failed; `outcome` is how the request was answered. */
  'authentication.failed': { outcome: string; address: string; network: string };
  /** This replica leads the shared work on the server from now on. */
  'lease.gained': { server_id: string };
  'search.finished': { ms: number };
  /** With the tokens that the servers returned, and those of the answer. */
  'query.finished': { ms: number; tokens_before: number; tokens_after: number };
  /** A client got the search tools instead of all tools. */
  'tools.listed': { tokens_before: number; tokens_after: number };
  'call.started': CallEvent;
  'call.finished': FinishedCall;
}

export interface CallEvent {
  call_id: string;
  server_id: string;
  server: string;
  tool: string;
  principal: string;
  /** The name that an MCP client gives itself; null for REST. */
  client: string | null;
}

export interface FinishedCall extends CallEvent {
  outcome: string;
  duration_ms: number;
  /** Of the error table, or the number that the server sent; null where there was no error. */
  error_code: string | null;
  /** For metrics and the log; not shown to people. */
  measured: {
    requestId?: string;
    /** From the arrival of the request until the call was routed. */
    admissionMs: number;
    /** Waiting for a place among the calls of the server. */
    queueMs: number;
    /** Until it left for the server: with `queueMs`. */
    routingMs: number;
    /** Undefined if the call never reached the server. */
    executionMs?: number;
  };
}

const nothing = z.object({});
const server = z.object({ server_id: z.string() });
const probeOutcome = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('status'), status: z.int(), ms: z.number() }),
  z.object({ kind: z.literal('answered'), ms: z.number() }),
  z.object({ kind: z.literal('failed'), reason: z.string() }),
]);

/** Replicated topics also go to the other replicas. They name the part of the database to read again, not the data. */
export const replicatedTopics = {
  /** A server was registered, changed, removed, logged in to, or is to be connected or disconnected. */
  'server.stored': server,
  /** The stored tools, prompts or resources of a server changed, or a decision about them. */
  'tools.stored': server,
  /** Asks the replica that leads the server to discover it again. */
  'discovery.requested': server.extend({ kinds: z.array(z.string()).optional() }),
  /** A health check by the replica that leads the server. */
  'health.checked': server.extend({ outcome: probeOutcome }),
  'tokens.stored': nothing,
  /** An account of the identity provider was signed in to, changed or ended. */
  'accounts.stored': z.object({ account_id: z.string() }),
  'user_keys.stored': server.extend({ user: z.string() }),
  /** A dashboard session was signed out. */
  'page_sessions.stored': nothing,
  'profiles.stored': nothing,
  'skills.stored': nothing,
  'rules.stored': nothing,
  /** Anything may have changed: a backup was restored, or notices were missed. */
  'store.replaced': nothing,
};

type ReplicatedTopics = { [Name in keyof typeof replicatedTopics]: z.infer<(typeof replicatedTopics)[Name]> };
type ReplicatedTopicName = keyof ReplicatedTopics;
/** Replicated topics without a payload. */
export type EmptyTopicName = {
  [Name in ReplicatedTopicName]: Record<never, never> extends ReplicatedTopics[Name] ? Name : never;
}[ReplicatedTopicName];
export type Topics = LocalTopics & ReplicatedTopics;
export type TopicName = keyof Topics;
type Subscriber<Name extends TopicName> = (payload: Topics[Name]) => void;
type Follower<Name extends ReplicatedTopicName> = (payload: Topics[Name]) => unknown;

/** A replicated topic with its payload, as it goes from one replica to the others. */
export type ReplicatedChange = {
  [Name in ReplicatedTopicName]: { topic: Name; payload: ReplicatedTopics[Name] };
}[ReplicatedTopicName];

export interface Changes {
  /** Calls the subscribers before it returns, and sends a replicated topic to the other replicas. */
  publish<Name extends TopicName>(name: Name, payload: Topics[Name]): void;
  /** Subscribes to changes of this process; returns a function that unsubscribes. */
  subscribe<Name extends TopicName>(name: Name, subscriber: Subscriber<Name>): () => void;
  /** Subscribes to changes of other replicas. A subscriber that rejects is called again later with the same change. */
  follow<Name extends ReplicatedTopicName>(name: Name, follower: Follower<Name>): () => void;
  /** The database was replaced: this process and the other replicas read everything again. */
  publishReplacedStore(): Promise<void>;
  /** Delivers a change of another replica to its followers in order. */
  deliver(change: ReplicatedChange): Promise<void>;
  /** Sets the transport for replicated topics; without it, this process is the only replica. */
  sendTo(send: (change: ReplicatedChange) => void): void;
}

export function createChanges(): Changes {
  const subscribers = createListeners<Subscriber<never>>();
  const followers = createListeners<Follower<never>>();
  let send: (change: ReplicatedChange) => void = () => undefined;

  async function deliver({ topic, payload }: ReplicatedChange): Promise<void> {
    for (const follower of followers.of(topic)) await (follower as (payload: unknown) => unknown)(payload);
  }

  return {
    publish(topic, payload) {
      for (const subscriber of subscribers.of(topic)) (subscriber as (payload: unknown) => void)(payload);
      if (topic in replicatedTopics) send({ topic, payload } as unknown as ReplicatedChange);
    },
    subscribe: subscribers.add,
    follow: followers.add,
    async publishReplacedStore() {
      const change = { topic: 'store.replaced', payload: {} } as const;
      await deliver(change);
      send(change);
    },
    deliver,
    sendTo(given) {
      send = given;
    },
  };
}

function createListeners<Listener>() {
  const byTopic = new Map<string, Set<Listener>>();
  return {
    of: (topic: string): Iterable<Listener> => byTopic.get(topic) ?? [],
    add(topic: string, listener: Listener): () => void {
      const listeners = byTopic.get(topic) ?? new Set();
      byTopic.set(topic, listeners.add(listener));
      return () => listeners.delete(listener);
    },
  };
}
