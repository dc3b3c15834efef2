/** What we want to hear from one server without asking: changed lists, and the resources that clients subscribed to. */
import { setTimeout as delay } from 'node:timers/promises';
import { RpcError } from '../errors.ts';
import type { Session } from './session.ts';

export interface Watch {
  /** Begins on a new session; what was subscribed before is subscribed again. */
  attach(session: Session): void;
  detach(): void;
  subscribe(uri: string): Promise<void>;
  unsubscribe(uri: string): Promise<void>;
}

const firstRetryMs = 500;
const longestRetryMs = 30_000;

export function createWatch(): Watch {
  const subscribers = new Map<string, number>();
  let session: Session | undefined;
  let detached = new AbortController();
  let refiltered = new AbortController();

  /** 2026-07-28: one long request whose filter cannot change, so another filter is another request. */
  async function listen(on: Session, ended: AbortSignal): Promise<void> {
    let retryMs = firstRetryMs;
    while (!ended.aborted) {
      refiltered = new AbortController();
      const signal = AbortSignal.any([ended, refiltered.signal]);
      try {
        await on.request('subscriptions/listen', { notifications: filter() }, { signal });
      } catch (error) {
        if (refiltered.signal.aborted && !ended.aborted) continue;
        if (error instanceof RpcError) return; // it has nothing to tell
      }
      await delay(retryMs, undefined, { signal: ended, ref: false }).catch(() => undefined); // detached meanwhile
      retryMs = Math.min(retryMs * 2, longestRetryMs);
    }
  }

  function filter() {
    const uris = [...subscribers.keys()].sort();
    return {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      ...(uris.length === 0 ? {} : { resourceSubscriptions: uris }),
    };
  }

  async function tell(method: 'resources/subscribe' | 'resources/unsubscribe', uri: string): Promise<void> {
    if (session?.era === 'modern') return refiltered.abort();
    await session?.request(method, { uri });
  }

  return {
    attach(fresh) {
      detached.abort();
      detached = new AbortController();
      session = fresh;
      if (fresh.era === 'modern') {
        void listen(fresh, detached.signal);
      } else {
        // A resource that is gone by now is not worth failing the connection for.
        for (const uri of subscribers.keys()) void tell('resources/subscribe', uri).catch(() => undefined);
      }
    },
    detach() {
      detached.abort();
      session = undefined;
    },
    async subscribe(uri) {
      const count = subscribers.get(uri) ?? 0;
      subscribers.set(uri, count + 1);
      if (count > 0) return;
      try {
        await tell('resources/subscribe', uri);
      } catch (error) {
        subscribers.delete(uri);
        throw error;
      }
    },
    async unsubscribe(uri) {
      const count = subscribers.get(uri) ?? 0;
      if (count > 1) return void subscribers.set(uri, count - 1);
      if (subscribers.delete(uri)) await tell('resources/unsubscribe', uri);
    },
  };
}
