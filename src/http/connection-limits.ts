/**
 * Limits connections before authentication, in total and per address. Clients get at most half of the file
 * descriptors, because servers, the database and the log need some.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { AppError } from '../errors.ts';
import { networkOf } from '../security/client-address.ts';

interface ConnectionLimits {
  all: number;
  perAddress: number;
}

type ConnectionRefusal = 'all' | 'address' | 'dropped' | 'late';

interface Connections {
  readonly open: number;
  /** Since the start. */
  readonly refused: Readonly<Record<ConnectionRefusal, number>>;
  /** Why a request on this connection is not answered; undefined where it is. */
  refusalOf(socket: Socket): AppError | undefined;
  /** Reports at intervals that the system accepts no connections because it is out of descriptors. */
  onUnaccepted(tell: (error: Error) => void): void;
}

/** At most this many refused connections at a time get an answer; further ones are closed. */
const maxAnswered = 64;
const answerWithinMs = 1_000;
const retryAfterSeconds = 5;
const closeIdleEveryMs = 1_000;
const notifyEveryMs = 10_000;

export function connectionLimits(wanted: ConnectionLimits, descriptors: number | undefined): ConnectionLimits {
  const all = Math.min(wanted.all, Math.floor((descriptors ?? Number.POSITIVE_INFINITY) / 2));
  // A single address must not be able to use all connections.
  return { all, perAddress: Math.min(wanted.perAddress, Math.ceil(all * 0.75)) };
}

export function limitConnections(
  server: Server,
  limits: ConnectionLimits,
  isProxy: (address: string) => boolean,
): Connections {
  const byAddress = new Map<string, number>();
  const refusals = new WeakMap<Socket, 'all' | 'address'>();
  const refused = { all: 0, address: 0, dropped: 0, late: 0 };
  let open = 0;
  let answered = 0;
  let closedIdleAt = Number.NEGATIVE_INFINITY;

  function admit(socket: Socket, address: string): void {
    open += 1;
    byAddress.set(address, (byAddress.get(address) ?? 0) + 1);
    socket.once('close', () => {
      open -= 1;
      const left = (byAddress.get(address) ?? 1) - 1;
      if (left === 0) byAddress.delete(address);
      else byAddress.set(address, left);
    });
  }

  /** The answer waits for the request, but not for long. */
  function refuse(socket: Socket, reason: 'all' | 'address'): void {
    if (answered >= maxAnswered) {
      refused.dropped += 1;
      return void socket.destroy();
    }
    refused[reason] += 1;
    refusals.set(socket, reason);
    answered += 1;
    const timer = setTimeout(() => socket.destroy(), answerWithinMs).unref();
    socket.once('close', () => {
      answered -= 1;
      clearTimeout(timer);
    });
  }

  /** Idle keep-alive connections are closed first to make room for requests. */
  function closeIdle(): void {
    if (performance.now() - closedIdleAt < closeIdleEveryMs) return;
    closedIdleAt = performance.now();
    server.closeIdleConnections();
  }

  server.maxConnections = limits.all + maxAnswered;
  server.on('drop', () => {
    refused.dropped += 1;
  });
  server.on('connection', (socket: Socket) => {
    const address = networkOf(socket.remoteAddress ?? '');
    const full = open >= limits.all;
    if (full) closeIdle();
    if (full) refuse(socket, 'all');
    else if ((byAddress.get(address) ?? 0) >= limits.perAddress && !isProxy(socket.remoteAddress ?? ''))
      refuse(socket, 'address');
    else admit(socket, address);
  });
  server.on('clientError', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') refused.late += 1;
  });

  return {
    get open() {
      return open;
    },
    refused,
    refusalOf(socket) {
      const reason = refusals.get(socket);
      if (reason === undefined) return undefined;
      return reason === 'all'
        ? new AppError('OVERLOADED', `All ${limits.all} connections are in use; try again later`, { retryAfterSeconds })
        : new AppError('RATE_LIMITED', `More than ${limits.perAddress} connections from one address`, {
            retryAfterSeconds,
          });
    },
    onUnaccepted(tell) {
      let toldAt = Number.NEGATIVE_INFINITY;
      server.on('error', (error) => {
        if (!server.listening) return; // a start that failed says so itself
        refused.dropped += 1;
        if (performance.now() - toldAt < notifyEveryMs) return;
        toldAt = performance.now();
        tell(error);
      });
    },
  };
}
