/** Redis, where it is configured: the faster way for notices, and counters that all replicas share. */
import { describe } from '../errors.ts';
import type { Logger } from '../log.ts';

export interface Redis {
  /** False where Redis is away: another way must be taken. */
  publish(text: string): Promise<boolean>;
  /** Adds one to the current counter where it and the weighted one before stay within; undefined while away. */
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
  /** From here on nothing is missed. */
  onListening(): void;
}

const channel = 'mcp-aggregator';
const prefix = 'mcp-aggregator:';
const commandTimeoutMs = 1_000;
const maxRetryMs = 2_000;
/** One step for Redis: two replicas that ask at once can't both have the last place. */
const countScript = `
local current = tonumber(redis.call('get', KEYS[1]) or '0')
local previous = tonumber(redis.call('get', KEYS[2]) or '0')
if current + previous * tonumber(ARGV[1]) + 1 > tonumber(ARGV[2]) then return {0, current, previous} end
redis.call('incr', KEYS[1])
redis.call('pexpire', KEYS[1], ARGV[3])
return {1, current, previous}
`;

export async function createRedis({ url, log, onNotice, onListening }: RedisOptions): Promise<Redis> {
  // Nobody without Redis pays for its client.
  const { Redis: Client } = await import('ioredis');
  const options = {
    retryStrategy: (attempt: number) => Math.min(attempt * 200, maxRetryMs),
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
