/** The stored configuration with sealed credentials and token hashes, without discovered data. */
import type { Transaction } from 'kysely';
import { upsertAccount } from './accounts.ts';
import { toColumns } from './columns.ts';
import type { Database } from './database.ts';
import { upsertOauthClient, upsertOauthLogin } from './oauth.ts';
import type {
  AccountRow,
  DatabaseSchema,
  OauthClientRow,
  OauthLoginRow,
  ProfileRow,
  ServerRow,
  SkillRow,
  TokenRow,
  UserKeyRow,
} from './schema.ts';
import { lockedTransaction } from './transaction.ts';
import { upsertUserKey } from './user-keys.ts';

const serverColumns = [
  ...(['id', 'name', 'description', 'transport_type', 'connection_config', 'health_check_url'] as const),
  ...(['auto_connect', 'desired', 'options', 'tool_overrides', 'origin', 'registered_at'] as const),
] as const;

type BackupServer = Pick<ServerRow, (typeof serverColumns)[number]>;

export interface BackupRows {
  servers: BackupServer[];
  tokens: TokenRow[];
  profiles: ProfileRow[];
  skills: SkillRow[];
  settings: { key: string; value: unknown }[];
  accounts: AccountRow[];
  oauth_clients: OauthClientRow[];
  oauth_logins: OauthLoginRow[];
  user_keys: UserKeyRow[];
}

/** A row that was not stored, and why. */
export interface LeftOut {
  kind: keyof BackupRows;
  name: string;
  reason: string;
}

/** Settings that are valid only in their own database: the ends of the audit, the keys that were used. */
const ownSettings = ['audit.%', 'own.%'] as const;

export async function findBackup({ kysely }: Database): Promise<BackupRows> {
  return {
    servers: await kysely.selectFrom('external_servers').select(serverColumns).orderBy('name').execute(),
    tokens: await kysely.selectFrom('tokens').selectAll().orderBy('id').execute(),
    profiles: await kysely.selectFrom('profiles').selectAll().orderBy('name').execute(),
    skills: await kysely.selectFrom('skills').selectAll().orderBy('id').execute(),
    settings: await kysely
      .selectFrom('settings')
      .selectAll()
      .where((eb) => eb.and(ownSettings.map((pattern) => eb('key', 'not like', pattern))))
      .execute(),
    accounts: await kysely.selectFrom('accounts').selectAll().orderBy('id').execute(),
    oauth_clients: await kysely.selectFrom('oauth_clients').selectAll().execute(),
    oauth_logins: await kysely.selectFrom('oauth_logins').selectAll().execute(),
    user_keys: await kysely.selectFrom('user_keys').selectAll().execute(),
  };
}

/**
 * All of it or nothing, but for what cannot be here: servers whose name another one has, or beyond the limit, and logins
 * to servers that are not here, as well as keys for them. What is there under the same id is replaced.
 */
export function upsertBackup(
  db: Database,
  rows: BackupRows,
  { maxServers }: { maxServers: number },
): Promise<{ conflicts: string[]; leftOut: LeftOut[] }> {
  return lockedTransaction(db, 'servers', async (transaction) => {
    const { conflicts, overLimit } = await upsertServers(transaction, rows.servers, maxServers);
    const stored = await transaction.selectFrom('external_servers').select('id').execute();
    const known = new Set(stored.map(({ id }) => id));
    for (const { id, ...token } of rows.tokens) {
      await transaction
        .insertInto('tokens')
        .values(toColumns({ id, ...token }))
        .onConflict((conflict) => conflict.column('id').doUpdateSet(toColumns(token)))
        .execute();
    }
    for (const { name, ...profile } of rows.profiles) {
      await transaction
        .insertInto('profiles')
        .values(toColumns({ name, ...profile }))
        .onConflict((conflict) => conflict.column('name').doUpdateSet(toColumns(profile)))
        .execute();
    }
    for (const { id, ...skill } of rows.skills) {
      await transaction
        .insertInto('skills')
        .values(toColumns({ id, ...skill }))
        .onConflict((conflict) => conflict.column('id').doUpdateSet(toColumns(skill)))
        .execute();
    }
    for (const { key, value } of rows.settings) {
      const text = JSON.stringify(value);
      await transaction
        .insertInto('settings')
        .values({ key, value: text })
        .onConflict((conflict) => conflict.column('key').doUpdateSet({ value: text }))
        .execute();
    }
    const inside = { ...db, kysely: transaction };
    for (const account of rows.accounts)
      await upsertAccount(inside, { ...account, lease_until: null, updated_at: new Date().toISOString() });
    const clients = Object.groupBy(rows.oauth_clients, ({ server_id }) => (known.has(server_id) ? 'here' : 'gone'));
    const logins = Object.groupBy(rows.oauth_logins, ({ server_id }) => (known.has(server_id) ? 'here' : 'gone'));
    for (const client of clients.here ?? []) await upsertOauthClient(inside, client);
    for (const login of logins.here ?? []) await upsertOauthLogin(inside, { ...login, lease_until: null });
    const keys = Object.groupBy(rows.user_keys, ({ server_id }) => (known.has(server_id) ? 'here' : 'gone'));
    for (const key of keys.here ?? []) await upsertUserKey(inside, key);
    const gone = 'its server is not registered here';
    const limit = `Server limit reached: ${maxServers} servers are registered`;
    return {
      conflicts,
      leftOut: [
        ...overLimit.map((name) => ({ kind: 'servers' as const, name, reason: limit })),
        ...(clients.gone ?? []).map(({ issuer }) => ({ kind: 'oauth_clients' as const, name: issuer, reason: gone })),
        ...(logins.gone ?? []).map((row) => ({ kind: 'oauth_logins' as const, name: row.server_id, reason: gone })),
        ...(keys.gone ?? []).map(({ server_id: name }) => ({ kind: 'user_keys' as const, name, reason: gone })),
      ],
    };
  });
}

/** The id is kept, because sealed values are bound to it; a server whose name is taken cannot be imported. */
async function upsertServers(
  transaction: Transaction<DatabaseSchema>,
  servers: readonly BackupServer[],
  maxServers: number,
): Promise<{ conflicts: string[]; overLimit: string[] }> {
  const conflicts: string[] = [];
  const overLimit: string[] = [];
  const stored = await transaction.selectFrom('external_servers').select('id').execute();
  const known = new Set(stored.map(({ id }) => id));
  const now = new Date().toISOString();
  for (const { id, name, ...server } of servers) {
    const other = await transaction
      .selectFrom('external_servers')
      .select('id')
      .where('name', '=', name)
      .where('id', '!=', id)
      .executeTakeFirst();
    if (other !== undefined) {
      conflicts.push(name);
      continue;
    }
    if (!known.has(id) && known.size >= maxServers) {
      overLimit.push(name);
      continue;
    }
    known.add(id);
    await transaction
      .insertInto('external_servers')
      .values(toColumns({ id, name, updated_at: now, ...server }))
      .onConflict((conflict) => conflict.column('id').doUpdateSet(toColumns({ updated_at: now, ...server })))
      .execute();
  }
  return { conflicts, overLimit };
}
