import type { Transaction } from 'kysely';
import { AppError } from '../errors.ts';
import type { JsonObject } from '../json-rpc.ts';
import { toColumns } from './columns.ts';
import type { Database } from './database.ts';
import type { DatabaseSchema, ServerRow } from './schema.ts';
import { lockedTransaction } from './transaction.ts';

interface Rename {
  id: string;
  name: string;
  /** The canonical name of a tool, by its own. */
  toolName(originalName: string): string;
  /** What names the server in these is rewritten; the same object means that nothing does. */
  profile(definition: JsonObject): JsonObject;
  servers(names: string[]): string[];
  setting: { key: string; rewrite(value: unknown): unknown };
}

/** EC-008: everything that names the server changes in one transaction; what happened before keeps the old name. */
export function renameServer(db: Database, rename: Rename): Promise<ServerRow> {
  const { id, name } = rename;
  return lockedTransaction(db, 'servers', async (transaction) => {
    const taken = await transaction
      .selectFrom('external_servers')
      .select('id')
      .where('name', '=', name)
      .where('id', '!=', id)
      .executeTakeFirst();
    if (taken !== undefined) throw new AppError('SERVER_ALREADY_EXISTS', `Server already exists: ${name}`);
    const row = await transaction
      .updateTable('external_servers')
      .set({ name, updated_at: new Date().toISOString() })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) throw new AppError('SERVER_NOT_FOUND', `Server not found: ${id}`);
    await renameTools(transaction, rename);
    await rewriteReferences(transaction, rename);
    return row;
  });
}

async function renameTools(transaction: Transaction<DatabaseSchema>, { id, toolName }: Rename): Promise<void> {
  const tools = await transaction
    .selectFrom('tools')
    .select(['id', 'original_name'])
    .where('source_server_id', '=', id)
    .execute();
  for (const tool of tools) {
    await transaction
      .updateTable('tools')
      .set({ name: toolName(tool.original_name) })
      .where('id', '=', tool.id)
      .execute();
  }
}

async function rewriteReferences(transaction: Transaction<DatabaseSchema>, rename: Rename): Promise<void> {
  for (const { name, definition } of await transaction.selectFrom('profiles').selectAll().execute()) {
    const next = rename.profile(definition);
    if (next === definition) continue;
    await transaction
      .updateTable('profiles')
      .set(toColumns({ definition: next }))
      .where('name', '=', name)
      .execute();
  }
  for (const { id, servers } of await transaction.selectFrom('tokens').select(['id', 'servers']).execute()) {
    const next = servers && rename.servers(servers);
    if (next === servers) continue;
    await transaction
      .updateTable('tokens')
      .set(toColumns({ servers: next }))
      .where('id', '=', id)
      .execute();
  }
  const { key, rewrite } = rename.setting;
  const setting = await transaction.selectFrom('settings').selectAll().where('key', '=', key).executeTakeFirst();
  if (setting === undefined) return;
  const value = rewrite(setting.value);
  await transaction.updateTable('settings').set(toColumns({ value })).where('key', '=', key).execute();
}
