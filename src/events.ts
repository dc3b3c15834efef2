/** What happens, told to whoever is connected: the live event stream, the catalog, the health room. */

export interface AppEvents {
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
  /** With a principal: read with that principal's credentials, and told to nobody else. */
  'resource.updated': { server_id: string; name: string; uri: string; principal_id?: string };
  /** As its server told it, to those who follow the task. */
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

export type EventName = keyof AppEvents;
type Listener<Name extends EventName> = (payload: AppEvents[Name], name: Name) => void;

export interface Events {
  emit<Name extends EventName>(name: Name, payload: AppEvents[Name]): void;
  on<Name extends EventName>(name: Name, listener: Listener<Name>): () => void;
  onAny(listener: (name: EventName, payload: AppEvents[EventName]) => void): () => void;
}

export function createEvents(): Events {
  const listeners = new Map<EventName, Set<Listener<EventName>>>();
  const anyListeners = new Set<(name: EventName, payload: AppEvents[EventName]) => void>();
  return {
    emit(name, payload) {
      for (const listener of listeners.get(name) ?? []) listener(payload, name);
      for (const listener of anyListeners) listener(name, payload);
    },
    on(name, listener) {
      const set = listeners.get(name) ?? new Set();
      listeners.set(name, set);
      const untyped = listener as unknown as Listener<EventName>;
      set.add(untyped);
      return () => set.delete(untyped);
    },
    onAny(listener) {
      anyListeners.add(listener);
      return () => anyListeners.delete(listener);
    },
  };
}
