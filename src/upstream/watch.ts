/** What we want to hear from one server without asking: changed lists, and the resources that clients subscribed to. */
import { setTimeout as delay } from 'node:timers/promises';
import { RpcError } from '../errors.ts';
import { type Session, subscriptionAcknowledged } from './session.ts';

export interface Watch {
  /** Begins on a new session; what was subscribed before is subscribed again. */
  attach(session: Session): void;
  detach(): void;
  /** Resolves when the server has agreed: no change after that is missed. */
  subscribe(uri: string): Promise<void>;
  unsubscribe(uri: string): Promise<void>;
}

const firstRetryMs = 500;
const longestRetryMs = 30_000;
const patienceMs = 10_000;

interface Listening {
  acknowledged: Promise<void>;
  end: () => void;
}

export function createWatch(): Watch {
  const subscribers = new Map<string, number>();
  let session: Session | undefined;
  let detached = new AbortController();
  let listening: Listening | undefined;

  /** 2026-07-28: one long request whose filter cannot change, so another filter is another request. */
  function listen(on: Session): Promise<void> {
    const before = listening;
    const ended = new AbortController();
    const acknowledged = Promise.withResolvers<void>();
    listening = { acknowledged: acknowledged.promise, end: () => ended.abort() };
    void keepListening(on, AbortSignal.any([detached.signal, ended.signal]), acknowledged.resolve);
    // The old one ends when the new one has begun, so that nothing falls in between.
    void acknowledged.promise.then(before?.end);
    return acknowledged.promise;
  }

  async function keepListening(on: Session, ended: AbortSignal, acknowledge: () => void): Promise<void> {
    let retryMs = firstRetryMs;
    const onNotification = (method: string) => {
      if (method === subscriptionAcknowledged) acknowledge();
    };
    while (!ended.aborted) {
      try {
        await on.request('subscriptions/listen', { notifications: filter() }, { signal: ended, onNotification });
      } catch (error) {
        if (error instanceof RpcError) return acknowledge(); // it has nothing to tell
      }
      await delay(retryMs, undefined, { signal: ended, ref: false }).catch(() => undefined); // ended meanwhile
      retryMs = Math.min(retryMs * 2, longestRetryMs);
    }
    acknowledge();
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
    const signal = AbortSignal.timeout(patienceMs);
    if (session?.era !== 'modern') return void (await session?.request(method, { uri }, { signal }));
    await Promise.race([listen(session), delay(patienceMs, undefined, { ref: false })]);
  }

  return {
    attach(fresh) {
      detached.abort();
      detached = new AbortController();
      listening = undefined;
      session = fresh;
      if (fresh.era === 'modern') {
        void listen(fresh);
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
      if (count > 0) return void (await listening?.acknowledged);
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
