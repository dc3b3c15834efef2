/** The roots of a legacy client: servers ask for them at any time, the client can be asked only while a stream is open. */
import type { Cancellation } from '../cancellation.ts';
import { isObject, type JsonObject, type RpcMessage } from '../json-rpc.ts';
import { mayKeepRoots } from './client-questions.ts';

type Send = (message: RpcMessage) => void;

interface ClientRoots {
  /** Of a call: asked on the call's own stream. */
  duringCall(send: Send, call: Cancellation, signal: AbortSignal | undefined): Promise<JsonObject>;
  /** Without a call: asked on whatever stream is open, or opens soon; else as they were last. */
  outsideCalls(signal: AbortSignal): Promise<JsonObject>;
  /** A stream opened on which the client can be asked. */
  handleStream(send: Send): void;
  /** The client says that they are others now. */
  invalidate(): void;
}

interface ClientRootsOptions {
  capabilities: () => JsonObject;
  ask(send: Send, options: { signal?: AbortSignal; call?: Cancellation }): Promise<JsonObject>;
  /** A stream that is open now. */
  openStream(): Send | undefined;
}

const maxWaitMs = 10_000;

export function createClientRoots({ capabilities, ask, openStream }: ClientRootsOptions): ClientRoots {
  const waiting = new Set<(send: Send | undefined) => void>();
  let last: JsonObject | undefined;
  let isCurrent = false;

  /** A client that does not say when they change is asked every time. */
  function announcesChanges(): boolean {
    const { roots } = capabilities();
    return isObject(roots) && roots.listChanged === true;
  }

  async function askOn(send: Send, options: { signal?: AbortSignal; call?: Cancellation }): Promise<JsonObject> {
    if (last !== undefined && isCurrent) return last;
    isCurrent = announcesChanges();
    try {
      const roots = await ask(send, options);
      last = mayKeepRoots(roots) ? roots : undefined;
      return roots;
    } catch (error) {
      isCurrent = false;
      throw error;
    }
  }

  function nextStream(): Promise<Send | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle(undefined), maxWaitMs).unref();
      const settle = (send: Send | undefined) => {
        clearTimeout(timer);
        waiting.delete(settle);
        resolve(send);
      };
      waiting.add(settle);
    });
  }

  return {
    duringCall: (send, call, signal) => askOn(send, { call, signal }),
    async outsideCalls(signal) {
      if (capabilities().roots === undefined) return { roots: [] };
      if (last !== undefined && isCurrent) return last;
      const send = openStream() ?? (await nextStream());
      return send === undefined ? (last ?? { roots: [] }) : await askOn(send, { signal });
    },
    handleStream(send) {
      for (const settle of [...waiting]) settle(send);
    },
    invalidate() {
      isCurrent = false;
    },
  };
}
