/** Server-sent events to clients that may not read them, or may have left. */
import type { ServerResponse } from 'node:http';

export const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
};

const defaultUnreadBytes = 67_108_864;

export const isOpen = (response: ServerResponse) => !response.destroyed && !response.writableEnded;

/**
 * Nothing where the stream was ended: Node ends the process over such a write while the client has not read the rest.
 * Nor may a client that does not read fill our memory.
 */
export function writeTo(response: ServerResponse, text: string, unreadBytes = defaultUnreadBytes): void {
  if (!isOpen(response)) return;
  response.write(text);
  if (response.writableLength > unreadBytes) response.destroy();
}
