import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Whoever reads nothing of what we wrote must not keep it in our memory: after a while the connection is cut. */
export function cutStalledClients(server: Server, everyMs = 30_000): void {
  /** How much had left us when we last looked; undefined where nothing was left to read. */
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
