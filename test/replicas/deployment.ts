/** Several replicas on one PostgreSQL, in this process. What needs them is skipped where there is only SQLite. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/databases.ts';

export const needsPostgres =
  process.env.TEST_DATABASE_URL === undefined ? { skip: 'needs PostgreSQL: npm run test:postgres' } : {};

export interface Deployment {
  replicas: TestApp[];
  /** One more, on the same database. */
  start(overrides?: Record<string, string>): Promise<TestApp>;
  close(): Promise<void>;
}

export async function startReplicas(count: number, overrides: Record<string, string> = {}): Promise<Deployment> {
  const database = await createTestDatabase();
  const adminToken = `admin-${randomBytes(16).toString('hex')}`;
  const directories: string[] = [];
  const replicas: TestApp[] = [];

  async function start(more: Record<string, string> = {}): Promise<TestApp> {
    const dataDir = await mkdtemp(join(tmpdir(), 'replica-'));
    directories.push(dataDir);
    const app = await startApp(
      { MCP_AGGREGATOR_ADMIN_TOKEN: adminToken, ...overrides, ...more },
      { database, dataDir },
    );
    replicas.push(app);
    return app;
  }

  for (let number = 0; number < count; number += 1) await start();
  return {
    replicas,
    start,
    async close() {
      await Promise.all(replicas.map((replica) => replica.close()));
      for (const directory of directories) await rm(directory, { recursive: true, force: true });
      await database.close();
    },
  };
}
