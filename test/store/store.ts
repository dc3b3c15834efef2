import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { insertServer, type NewServer } from '../../src/store/servers.ts';
import { type DiscoveredTool, definitionHash } from '../../src/store/tools.ts';
import { createTestDatabase } from '../support/databases.ts';

export async function openTestDatabase(test: TestContext): Promise<Database> {
  const { url, file, close } = await createTestDatabase();
  const db = await openDatabase({ url, file });
  test.after(async () => {
    await db.close();
    await close();
  });
  return db;
}

export function newServer(name: string, more: Partial<NewServer> = {}): NewServer {
  return { id: randomUUID(), name, transport_type: 'STDIO', connection_config: { sealed: 'v1.x' }, ...more };
}

export async function addServer(db: Database, name: string): Promise<string> {
  const server = await insertServer(db, newServer(name), { maxServers: 50 });
  return server.id;
}

export function newTool(server: string, name: string, description = `Does ${name}`): DiscoveredTool {
  const input_schema = { type: 'object', properties: { zeta: { type: 'string' }, alpha: { type: 'number' } } };
  const definition = { name, description, inputSchema: input_schema };
  return {
    name: `${server}.${name}`,
    original_name: name,
    title: null,
    description,
    input_schema,
    definition,
    definition_hash: definitionHash(definition),
  };
}

export function newTools(server: string, count: number): DiscoveredTool[] {
  return Array.from({ length: count }, (_, index) => newTool(server, `tool_${String(index).padStart(5, '0')}`));
}

export const roomyLimits = { maxPerServer: 1_000, maxTotal: 10_000 };
