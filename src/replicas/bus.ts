/**
 * Tells the other replicas, and hears them: through Redis where it is configured and there, otherwise through
 * PostgreSQL. Everybody listens to both, so that it does not matter which way the teller took.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { describe } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Database } from '../store/database.ts';
import { createNotices } from '../store/notices.ts';
import { sendNotice } from '../store/replicas.ts';
import { type Change, fromNotice, toNotice } from './change.ts';
import { createRedis, type Redis } from './redis.ts';

export interface Bus {
  publish(change: Change): void;
  readonly redis: Redis | undefined;
  close(): Promise<void>;
}

export interface BusOptions {
  db: Database;
  databaseUrl: string;
  redisUrl: string | undefined;
  self: string;
  log: Logger;
  onChange(change: Change): void;
}

const retryMs = 250;

export async function createBus({ db, databaseUrl, redisUrl, self, log, onChange }: BusOptions): Promise<Bus> {
  const closed = new AbortController();
  const waiting: string[] = [];
  let sending: Promise<void> | undefined;

  const handle = (text: string) => {
    const change = fromNotice(text, self);
    if (change !== undefined) onChange(change);
  };
  /** Whatever was said while nobody listened is in the database. */
  const catchUp = () => onChange({ kind: 'everything' });
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

  /** In order, until it is said: a change that nobody hears of would be stale elsewhere for ever. */
  async function send(): Promise<void> {
    for (let text = waiting[0]; text !== undefined; text = waiting[0]) {
      try {
        if ((await redis?.publish(text)) !== true) await sendNotice(db, text);
        waiting.shift();
      } catch (error) {
        if (closed.signal.aborted) return;
        log.debug({ error: describe(error) }, 'a notice to the other replicas must wait');
        await delay(retryMs, undefined, { signal: closed.signal, ref: false }).catch(() => undefined); // closed
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
    publish(change) {
      const text = toNotice(self, change);
      // The first is on its way; of the others one is enough.
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
