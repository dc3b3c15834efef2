/** What we want to handle from one server without asking: changed lists, and the resources and tasks clients follow. */
import { setTimeout as delay } from 'node:timers/promises';
import { RpcError } from '../errors.ts';
import { interruptibleDelay } from '../interruptible-delay.ts';
import { type JsonObject, listChanges, rpcCodes } from '../json-rpc.ts';
import { type Session, steadyStreamMs, subscriptionAcknowledged } from './session.ts';

export interface Watch {
  /** Begins on a new session; what was subscribed before is subscribed again. */
  attach(session: Session): void;
  detach(): void;
  /** Resolves when the server has agreed: no change after that is missed. */
  subscribe(topic: Topic, key: string): Promise<void>;
  unsubscribe(topic: Topic, key: string): Promise<void>;
  /** Whether anything is subscribed to. */
  readonly isNeeded: boolean;
}

/** As the filter of `subscriptions/listen` names them: addresses of resources, ids of tasks. */
export type Topic = 'resourceSubscriptions' | 'taskIds';

const firstRetryMs = 500;
const maxRetryMs = 30_000;
const patienceMs = 10_000;

interface Listening {
  acknowledged: Promise<void>;
  end: () => void;
}

/** `onNotification` gets the progress of followed tasks and the lists to read again. */
interface WatchOptions {
  onNotification(method: string, params: JsonObject): void;
  /** A resource that was followed before the connection was lost is not followed on the new one. */
  onUnfollowed(uri: string, error: unknown): void;
}

export function createWatch({ onNotification, onUnfollowed }: WatchOptions): Watch {
  /** How many follow each. */
  const followed = { resourceSubscriptions: new Map<string, number>(), taskIds: new Map<string, number>() };
  let session: Session | undefined;
  let detached = new AbortController();
  let listening: Listening | undefined;
  let reopening: Promise<void> | undefined;

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

  /** Once for all that begins or ends in the same moment. */
  function listenAnew(): Promise<void> {
    reopening ??= Promise.resolve().then(() => {
      reopening = undefined;
      return session && listen(session);
    });
    return reopening;
  }

  async function keepListening(on: Session, ended: AbortSignal, acknowledge: () => void): Promise<void> {
    let retryMs = firstRetryMs;
    let isFirst = true;
    const handle = (method: string, params: JsonObject) => {
      if (method.startsWith('notifications/tasks')) onNotification(method, params);
      if (method !== subscriptionAcknowledged) return;
      acknowledge();
      // Changes before this stream was open were not reported.
      if (!isFirst) for (const change of listChanges) onNotification(change, {});
      isFirst = false;
    };
    while (!ended.aborted) {
      const beganAt = performance.now();
      try {
        await on.request('subscriptions/listen', { notifications: filter() }, { signal: ended, notify: handle });
      } catch (error) {
        if (error instanceof RpcError) return acknowledge(); // it has nothing to tell
      }
      if (performance.now() - beganAt > steadyStreamMs) retryMs = firstRetryMs;
      await interruptibleDelay(retryMs, ended, { ref: false });
      retryMs = Math.min(retryMs * 2, maxRetryMs);
    }
    acknowledge();
  }

  function filter() {
    const uris = [...followed.resourceSubscriptions.keys()].sort();
    const taskIds = [...followed.taskIds.keys()].sort();
    return {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      ...(uris.length === 0 ? {} : { resourceSubscriptions: uris }),
      ...(taskIds.length === 0 ? {} : { taskIds }),
    };
  }

  async function request(action: 'subscribe' | 'unsubscribe', topic: Topic, key: string): Promise<void> {
    if (session?.era === 'modern') {
      await patiently(listenAnew());
    } else if (topic === 'resourceSubscriptions') {
      await session?.request(`resources/${action}`, { uri: key }, { signal: AbortSignal.timeout(patienceMs) });
    } else {
      throw new RpcError(rpcCodes.methodNotFound, 'The server does not support subscriptions to tasks');
    }
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
        for (const uri of followed.resourceSubscriptions.keys())
          request('subscribe', 'resourceSubscriptions', uri).catch((error: unknown) => onUnfollowed(uri, error));
      }
    },
    detach() {
      detached.abort();
      session = undefined;
    },
    async subscribe(topic, key) {
      const count = followed[topic].get(key) ?? 0;
      followed[topic].set(key, count + 1);
      if (count > 0) return await patiently(reopening ?? listening?.acknowledged);
      try {
        await request('subscribe', topic, key);
      } catch (error) {
        followed[topic].delete(key);
        throw error;
      }
    },
    get isNeeded() {
      return followed.resourceSubscriptions.size + followed.taskIds.size > 0;
    },
    async unsubscribe(topic, key) {
      const count = followed[topic].get(key) ?? 0;
      if (count > 1) return void followed[topic].set(key, count - 1);
      if (followed[topic].delete(key)) await request('unsubscribe', topic, key);
    },
  };
}

/** A server that never acknowledges does not block its subscribers. */
function patiently(agreed: Promise<void> | undefined): Promise<void> {
  return Promise.race([agreed, delay(patienceMs, undefined, { ref: false })]);
}
