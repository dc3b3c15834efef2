/** Server-sent events for clients that may read slowly or disconnect. */
import type { ServerResponse } from 'node:http';

export const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
};

const defaultUnreadBytes = 67_108_864;

export const isOpen = (response: ServerResponse) => !response.destroyed && !response.writableEnded;

/** Does not write to an ended stream, which would crash Node, and limits what a slow client can buffer in memory. */
export function writeTo(response: ServerResponse, text: string, unreadBytes = defaultUnreadBytes): void {
  if (!isOpen(response)) return;
  response.write(text);
  if (response.writableLength > unreadBytes) response.destroy();
}
