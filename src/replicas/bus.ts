/**
 * Sends and receives notices: through Redis if it is configured and available, otherwise through PostgreSQL. All
 * replicas listen to both, so the sender can use either.
 */
import { describe } from '../errors.ts';
import { interruptibleDelay } from '../interruptible-delay.ts';
import type { Logger } from '../log.ts';
import type { Database } from '../store/database.ts';
import { createNotices } from '../store/notices.ts';
import { sendNotice } from '../store/replicas.ts';
import { fromNotice, type Notice, toNotice } from './notice.ts';
import { createRedis, type Redis } from './redis.ts';

export interface Bus {
  send(notice: Notice): void;
  readonly redis: Redis | undefined;
  close(): Promise<void>;
}

interface BusOptions {
  db: Database;
  databaseUrl: string;
  redisUrl: string | undefined;
  self: string;
  log: Logger;
  onNotice(notice: Notice): void;
}

const retryMs = 250;

export async function createBus({ db, databaseUrl, redisUrl, self, log, onNotice }: BusOptions): Promise<Bus> {
  const closed = new AbortController();
  const waiting: string[] = [];
  let sending: Promise<void> | undefined;

  const handle = (text: string) => {
    const notice = fromNotice(text, self);
    if (notice !== undefined) onNotice(notice);
  };
  /** Missed notices are recovered by reading the database again. */
  const catchUp = () => onNotice({ topic: 'store.replaced', payload: {} });
  const redis =
    redisUrl === undefined
      ? undefined
      : await createRedis({ url: redisUrl, log, onNotice: handle, onListening: catchUp });
  const notices = createNotices({
    url: databaseUrl,
    onNotice: handle,
    onListening: catchUp,
    onLost: (error) => log.warn({ error: describe(error) }, 'no notices from the other replicas for now'),
  });

  /** Sends in order and retries, because a lost notice would leave other replicas stale. */
  async function send(): Promise<void> {
    for (let text = waiting[0]; text !== undefined; text = waiting[0]) {
      try {
        if ((await redis?.publish(text)) !== true) await sendNotice(db, text);
        waiting.shift();
      } catch (error) {
        if (closed.signal.aborted) return;
        log.debug({ error: describe(error) }, 'a notice to the other replicas must wait');
        await interruptibleDelay(retryMs, closed.signal, { ref: false });
      }
    }
  }

  function start(): void {
    sending ??= send().finally(() => {
      sending = undefined;
      if (waiting.length > 0 && !closed.signal.aborted) start();
    });
  }

  return {
    redis,
    send(notice) {
      const text = toNotice(self, notice);
      // The first is being sent; duplicates among the others are merged.
      if (waiting.indexOf(text, 1) === -1) waiting.push(text);
      start();
    },
    async close() {
      closed.abort();
      await sending;
      await Promise.all([notices.close(), redis?.close()]);
    },
  };
}
