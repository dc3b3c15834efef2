/** A dedicated PostgreSQL connection that receives notices of other processes (LISTEN). */
import pg from 'pg';
import { noticeChannel } from './replicas.ts';

interface Notices {
  close(): Promise<void>;
}

interface NoticeOptions {
  url: string;
  onNotice(text: string): void;
  /** Called after each connection; notices since the previous connection were lost. */
  onListening(): void;
  onLost(error: unknown): void;
}

const retryMs = 250;
const maxRetryMs = 2_000;
/** A connection whose peer vanished looks alive until something is sent. */
const checkEveryMs = 5_000;
const checkTimeoutMs = 5_000;

export function createNotices(options: NoticeOptions): Notices {
  const { url, onNotice, onListening, onLost } = options;
  const closed = new AbortController();
  let client: pg.Client | undefined;
  let wait: NodeJS.Timeout | undefined;
  let failures = 0;
  const checking = setInterval(() => void client?.query('select 1').catch(reconnect), checkEveryMs).unref();
  void connect();

  async function connect(): Promise<void> {
    const next = new pg.Client({
      connectionString: url,
      application_name: 'mcp-aggregator notices',
      connectionTimeoutMillis: checkTimeoutMs,
      query_timeout: checkTimeoutMs,
      keepAlive: true,
    });
    client = next;
    next.on('notification', ({ payload }) => onNotice(payload ?? ''));
    next.on('error', (error) => {
      if (client === next) reconnect(error);
    });
    next.on('end', () => {
      if (client === next) reconnect(new Error('the connection was closed'));
    });
    try {
      await next.connect();
      await next.query(`listen ${noticeChannel}`);
      if (client !== next) return;
      failures = 0;
      onListening();
    } catch (error) {
      if (client === next) reconnect(error);
    }
  }

  function reconnect(error: unknown): void {
    const lost = client;
    if (lost === undefined) return; // the next attempt is already scheduled
    client = undefined;
    void lost.end().catch(() => undefined); // the connection is lost anyway
    if (closed.signal.aborted) return;
    onLost(error);
    wait = setTimeout(connect, Math.min(retryMs * 2 ** failures, maxRetryMs)).unref();
    failures += 1;
  }

  return {
    async close() {
      closed.abort();
      clearInterval(checking);
      clearTimeout(wait);
      const last = client;
      client = undefined;
      await last?.end().catch(() => undefined); // the connection may be lost already
    },
  };
}
