/** Uses a bad server on order: calls its tool, and asks a question that it takes part in. What comes of it is its business. */
import { setTimeout as delay } from 'node:timers/promises';

export interface Task {
  url: string;
  adminToken: string;
  server: string;
  ms: number;
}

const pauseMs = 300;

if (import.meta.main) process.on('message', (task: Task) => void use(task));

async function use({ url, adminToken, server, ms }: Task): Promise<void> {
  const ends = AbortSignal.timeout(ms);
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' };
  const send = (path: string, body: object): Promise<unknown> =>
    fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body), signal: ends })
      .then((response) => response.arrayBuffer())
      .catch(() => undefined);
  while (!ends.aborted) {
    await Promise.all([
      send('/api/v1/query', { query: 'where are the notes about winter' }),
      send('/api/v1/tools/call', { name: `${server}.search_notes`, arguments: { query: 'winter' } }),
      delay(pauseMs),
    ]);
  }
}
