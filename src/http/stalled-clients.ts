import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Closes connections of clients that stopped reading, so that unread data does not accumulate in memory. */
export function cutStalledClients(server: Server, everyMs = 30_000): void {
  /** Bytes sent at the last check; undefined if nothing was waiting to be read. */
  const sent = new Map<Socket, number | undefined>();
  server.on('connection', (socket: Socket) => {
    sent.set(socket, undefined);
    socket.on('close', () => sent.delete(socket));
  });
  const timer = setInterval(() => {
    for (const [socket, before] of sent) {
      const unread = socket.writableLength;
      const now = unread === 0 ? undefined : socket.bytesWritten - unread;
      if (now !== undefined && now === before) socket.destroy();
      sent.set(socket, now);
    }
  }, everyMs).unref();
  server.on('close', () => clearInterval(timer));
}
