/** Responses that are not complete yet: a shutdown waits for them. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createInFlightTable } from '../in-flight-table.ts';

export interface PendingResponses {
  add(response: ServerResponse): void;
  /** An event stream that another replica answers through this one: it never completes, and ends with this process. */
  addForwardedStream(response: ServerResponse): void;
  /** Resolves when everything that is pending now is complete, with how many. */
  completed(): Promise<number>;
}

export function createPendingResponses(): PendingResponses {
  const pending = createInFlightTable<ServerResponse>();
  const forwardedStreams = new WeakSet<ServerResponse>();

  return {
    add(response) {
      const id = pending.add(response);
      response.on('close', () => pending.remove(id));
    },
    addForwardedStream: (response) => void forwardedStreams.add(response),
    async completed() {
      for (const response of pending) response.shouldKeepAlive = false;
      const awaited = [...pending].filter((response) => !forwardedStreams.has(response));
      await Promise.all(awaited.map((response) => once(response, 'close')));
      return awaited.length;
    },
  };
}
