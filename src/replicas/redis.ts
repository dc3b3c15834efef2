/** Redis, where it is configured: the faster way for notices, and counters that all replicas share. */
import { describe } from '../errors.ts';
import type { Logger } from '../log.ts';

export interface Redis {
  /** False where Redis is away: another way must be taken. */
  publish(text: string): Promise<boolean>;
  /** Adds one to a counter that is forgotten after a while; undefined where Redis is away. */
  count(key: string, forgetAfterMs: number): Promise<number | undefined>;
  /** A counter as it is. */
  read(key: string): Promise<number | undefined>;
  close(): Promise<void>;
}

export interface RedisOptions {
  url: string;
  log: Logger;
  onNotice(text: string): void;
  /** From here on nothing is missed. */
  onListening(): void;
}

const channel = 'mcp-aggregator';
const prefix = 'mcp-aggregator:';
const commandTimeoutMs = 1_000;
const longestRetryMs = 2_000;

export async function createRedis({ url, log, onNotice, onListening }: RedisOptions): Promise<Redis> {
  // Nobody without Redis pays for its client.
  const { Redis: Client } = await import('ioredis');
  const options = {
    retryStrategy: (attempt: number) => Math.min(attempt * 200, longestRetryMs),
    // A command that can't be sent now fails now: whoever waits for it has another way.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    connectTimeout: 5_000,
    autoResubscribe: false,
  };
  const commands = new Client(url, options);
  // A subscriber waits for hours, which is no timeout.
  const subscriber = new Client(url, { ...options, commandTimeout: undefined });
  let away = false;

  function note(error: unknown): void {
    if (!away) log.warn({ error: describe(error) }, 'Redis is away; replicas tell each other through PostgreSQL');
    away = true;
  }
  for (const client of [commands, subscriber]) client.on('error', note);
  commands.on('ready', () => {
    if (away) log.info('Redis is back');
    away = false;
  });
  subscriber.on('ready', () => void subscriber.subscribe(channel).then(onListening, note));
  subscriber.on('message', (_channel, text) => onNotice(text));

  /** What fails here is done without Redis; that it is away was said. */
  async function attempt<T>(run: () => Promise<T>): Promise<T | undefined> {
    if (commands.status !== 'ready') return undefined;
    return await run().catch((error: unknown) => {
      note(error);
      return undefined;
    });
  }

  return {
    publish: async (text) => (await attempt(() => commands.publish(channel, text))) !== undefined,
    async count(key, forgetAfterMs) {
      return await attempt(async () => {
        const [counted] = (await commands
          .multi()
          .incr(prefix + key)
          .pexpire(prefix + key, forgetAfterMs)
          .exec()) ?? [[new Error('not executed')]];
        if (counted?.[0]) throw counted[0];
        return Number(counted?.[1]);
      });
    },
    read: async (key) => await attempt(async () => Number((await commands.get(prefix + key)) ?? 0)),
    async close() {
      subscriber.disconnect();
      commands.disconnect();
    },
  };
}
