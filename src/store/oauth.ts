import type { Database } from './database.ts';
import type { OauthClientRow, OauthFlowRow, OauthLoginRow } from './schema.ts';

export function findOauthClient({ kysely }: Database, server_id: string, issuer: string) {
  return kysely
    .selectFrom('oauth_clients')
    .selectAll()
    .where('server_id', '=', server_id)
    .where('issuer', '=', issuer)
    .executeTakeFirst();
}

export function findOauthClients({ kysely }: Database): Promise<OauthClientRow[]> {
  return kysely.selectFrom('oauth_clients').selectAll().execute();
}

export async function upsertOauthClient({ kysely }: Database, row: OauthClientRow): Promise<void> {
  const { server_id: _server, issuer: _issuer, ...changed } = row;
  await kysely
    .insertInto('oauth_clients')
    .values(row)
    .onConflict((conflict) => conflict.columns(['server_id', 'issuer']).doUpdateSet(changed))
    .execute();
}

export async function deleteOauthClient({ kysely }: Database, server_id: string, issuer: string): Promise<void> {
  await kysely.deleteFrom('oauth_clients').where('server_id', '=', server_id).where('issuer', '=', issuer).execute();
}

export function findOauthLogin({ kysely }: Database, server_id: string, principal: string) {
  return kysely
    .selectFrom('oauth_logins')
    .selectAll()
    .where('server_id', '=', server_id)
    .where('principal', '=', principal)
    .executeTakeFirst();
}

export function findOauthLogins({ kysely }: Database): Promise<OauthLoginRow[]> {
  return kysely.selectFrom('oauth_logins').selectAll().orderBy('updated_at').execute();
}

/** False if it already exists. */
export async function insertOauthLogin({ kysely }: Database, row: OauthLoginRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await kysely
    .insertInto('oauth_logins')
    .values(row)
    .onConflict((conflict) => conflict.columns(['server_id', 'principal']).doNothing())
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

export async function upsertOauthLogin({ kysely }: Database, row: OauthLoginRow): Promise<void> {
  const { server_id: _server, principal: _principal, ...changed } = row;
  await kysely
    .insertInto('oauth_logins')
    .values(row)
    .onConflict((conflict) => conflict.columns(['server_id', 'principal']).doUpdateSet(changed))
    .execute();
}

/** False if it was changed or deleted since it was read. */
export async function updateOauthLogin(
  { kysely }: Database,
  { server_id, principal, ...changed }: OauthLoginRow,
  before: Pick<OauthLoginRow, 'updated_at'>,
): Promise<boolean> {
  const { numUpdatedRows } = await kysely
    .updateTable('oauth_logins')
    .set(changed)
    .where('server_id', '=', server_id)
    .where('principal', '=', principal)
    .where('updated_at', '=', before.updated_at)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** False where it is no longer sealed as it was. */
export async function updateOauthLoginSealed(
  { kysely }: Database,
  { server_id, principal }: Pick<OauthLoginRow, 'server_id' | 'principal'>,
  before: string,
  sealed: string,
): Promise<boolean> {
  const { numUpdatedRows } = await kysely
    .updateTable('oauth_logins')
    .set({ sealed })
    .where('server_id', '=', server_id)
    .where('principal', '=', principal)
    .where('sealed', '=', before)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** The same for a client. */
export async function updateOauthClientSealed(
  { kysely }: Database,
  { server_id, issuer }: Pick<OauthClientRow, 'server_id' | 'issuer'>,
  before: string,
  sealed: string,
): Promise<boolean> {
  const { numUpdatedRows } = await kysely
    .updateTable('oauth_clients')
    .set({ sealed })
    .where('server_id', '=', server_id)
    .where('issuer', '=', issuer)
    .where('sealed', '=', before)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** True for the one replica that may refresh now. */
export async function leaseOauthLogin(
  { kysely }: Database,
  { server_id, principal, updated_at }: Pick<OauthLoginRow, 'server_id' | 'principal' | 'updated_at'>,
  { now, until }: { now: string; until: string },
): Promise<boolean> {
  const { numUpdatedRows } = await kysely
    .updateTable('oauth_logins')
    .set({ lease_until: until })
    .where('server_id', '=', server_id)
    .where('principal', '=', principal)
    // Only if unchanged, because another replica may have refreshed it.
    .where('updated_at', '=', updated_at)
    .where((is) => is.or([is('lease_until', 'is', null), is('lease_until', '<', now)]))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Releases the lease early, so that others need not wait until it expires. */
export async function releaseOauthLogin(
  { kysely }: Database,
  { server_id, principal, updated_at }: Pick<OauthLoginRow, 'server_id' | 'principal' | 'updated_at'>,
): Promise<void> {
  await kysely
    .updateTable('oauth_logins')
    .set({ lease_until: null })
    .where('server_id', '=', server_id)
    .where('principal', '=', principal)
    .where('updated_at', '=', updated_at)
    .execute();
}

export async function deleteOauthLogin({ kysely }: Database, server_id: string, principal: string): Promise<void> {
  await kysely
    .deleteFrom('oauth_logins')
    .where('server_id', '=', server_id)
    .where('principal', '=', principal)
    .execute();
}

export async function deleteOauthServer({ kysely }: Database, server_id: string): Promise<void> {
  for (const table of ['oauth_logins', 'oauth_clients', 'oauth_flows'] as const) {
    await kysely.deleteFrom(table).where('server_id', '=', server_id).execute();
  }
}

export async function insertOauthFlow({ kysely }: Database, row: OauthFlowRow): Promise<void> {
  await kysely.deleteFrom('oauth_flows').where('expires_at', '<', new Date().toISOString()).execute();
  await kysely.insertInto('oauth_flows').values(row).execute();
}

/** Deletes and returns it, because a state is valid once. */
export function takeOauthFlow({ kysely }: Database, state_hash: string): Promise<OauthFlowRow | undefined> {
  return kysely.deleteFrom('oauth_flows').where('state_hash', '=', state_hash).returningAll().executeTakeFirst();
}
