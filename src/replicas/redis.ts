/** Optional Redis client: faster notices, and counters that all replicas share. */
import { describe } from '../errors.ts';
import type { Logger } from '../log.ts';

export interface Redis {
  /** False if Redis is unavailable. */
  publish(text: string): Promise<boolean>;
  /** Increments the counter if it is within the limit together with the weighted previous one; undefined if unavailable. */
  countWithin(
    keys: { current: string; previous: string },
    within: { weight: number; limit: number; forgetAfterMs: number },
  ): Promise<{ admitted: boolean; current: number; previous: number } | undefined>;
  close(): Promise<void>;
}

interface RedisOptions {
  url: string;
  log: Logger;
  onNotice(text: string): void;
  /** Called when notices are received again. */
  onListening(): void;
}

const channel = 'mcp-aggregator';
const prefix = 'mcp-aggregator:';
const commandTimeoutMs = 1_000;
const maxRetryMs = 2_000;
/** Atomic in Redis, so that two replicas cannot both take the last slot. */
const countScript = `
local current = tonumber(redis.call('get', KEYS[1]) or '0')
local previous = tonumber(redis.call('get', KEYS[2]) or '0')
if current + previous * tonumber(ARGV[1]) + 1 > tonumber(ARGV[2]) then return {0, current, previous} end
redis.call('incr', KEYS[1])
redis.call('pexpire', KEYS[1], ARGV[3])
return {1, current, previous}
`;

export async function createRedis({ url, log, onNotice, onListening }: RedisOptions): Promise<Redis> {
  // Loaded only if Redis is configured.
  const { Redis: Client } = await import('ioredis');
  const options = {
    retryStrategy: (attempt: number) => Math.min(attempt * 200, maxRetryMs),
    // Fail immediately instead of queueing, because callers have a fallback.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    connectTimeout: 5_000,
    autoResubscribe: false,
  };
  const commands = new Client(url, options);
  // A subscriber may wait for hours without a timeout.
  const subscriber = new Client(url, { ...options, commandTimeout: undefined });
  let away = false;

  function note(error: unknown): void {
    if (!away) log.warn({ error: describe(error) }, 'Redis is unavailable; replicas communicate through PostgreSQL');
    away = true;
  }
  for (const client of [commands, subscriber]) client.on('error', note);
  commands.on('ready', () => {
    if (away) log.info('Redis is back');
    away = false;
  });
  subscriber.on('ready', () => void subscriber.subscribe(channel).then(onListening, note));
  subscriber.on('message', (_channel, text) => onNotice(text));

  /** Errors are ignored, because the outage is already logged and callers have a fallback. */
  async function attempt<T>(run: () => Promise<T>): Promise<T | undefined> {
    if (commands.status !== 'ready') return undefined;
    return await run().catch((error: unknown) => {
      note(error);
      return undefined;
    });
  }

  return {
    publish: async (text) => (await attempt(() => commands.publish(channel, text))) !== undefined,
    countWithin: ({ current, previous }, { weight, limit, forgetAfterMs }) =>
      attempt(async () => {
        const keys = [prefix + current, prefix + previous];
        const answer = await commands.eval(countScript, keys.length, ...keys, weight, limit, forgetAfterMs);
        const [admitted, now, before] = (answer as unknown[]).map(Number);
        return { admitted: admitted === 1, current: now ?? 0, previous: before ?? 0 };
      }),
    async close() {
      subscriber.disconnect();
      commands.disconnect();
    },
  };
}
