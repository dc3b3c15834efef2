/**
 * The one way in which a change travels. A module publishes a topic of the tables below; the modules concerned subscribe
 * to it. A replicated topic also goes to the other replicas, whose modules `follow` it. To see who reacts to a topic,
 * search for its name.
 */
/** These stay in this process. */
export interface LocalTopics {
  'server.registered': { server_id: string; name: string };
  'server.updated': { server_id: string; name: string };
  'server.removed': { server_id: string; name: string };
  'server.status': { server_id: string; name: string; status: string; previous: string; error_message: string | null };
  'server.discovered': {
    server_id: string;
    name: string;
    tools: number;
    added: string[];
    changed: string[];
    removed: string[];
  };
  'server.lists_changed': { server_id: string; kinds: string[] };
  'catalog.changed': { server_id: string; tools: boolean; prompts: boolean; resources: boolean };
  /** With a principal: read with that principal's credentials, and visible to no other principal. */
  'resource.updated': { server_id: string; name: string; uri: string; principal_id?: string };
  /** As the server reported it, for the clients that follow the task. */
  'task.changed': { server_id: string; method: string; params: Record<string, unknown> };
  /** A token was revoked or has expired: what it began ends. */
  'principal.ended': { principal_id: string };
  'call.started': CallEvent;
  'call.finished': CallEvent & { outcome: string; duration_ms: number };
}

export interface CallEvent {
  call_id: string;
  server_id: string;
  server: string;
  tool: string;
  principal: string;
}

export type Topics = LocalTopics;
export type TopicName = keyof Topics;
type Listener<Name extends TopicName> = (payload: Topics[Name]) => void;

export interface Changes {
  /** Calls the subscribers before it returns. */
  publish<Name extends TopicName>(name: Name, payload: Topics[Name]): void;
  /** What is published in this process; returns the function that ends the subscription. */
  subscribe<Name extends TopicName>(name: Name, listener: Listener<Name>): () => void;
}

export function createChanges(): Changes {
  const subscribers = new Map<TopicName, Set<Listener<never>>>();
  return {
    publish(name, payload) {
      for (const listener of subscribers.get(name) ?? []) (listener as Listener<typeof name>)(payload);
    },
    subscribe(name, listener) {
      const listeners = subscribers.get(name) ?? new Set();
      subscribers.set(name, listeners.add(listener));
      return () => listeners.delete(listener);
    },
  };
}
