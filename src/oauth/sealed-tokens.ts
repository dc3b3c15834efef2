/** What OAuth keeps sealed, for the rotation of the key. */

import type { Accounts } from '../security/accounts.ts';
import type { SealedStore } from '../security/reseal.ts';
import { findAccounts, updateAccountSealed } from '../store/accounts.ts';
import type { Database } from '../store/database.ts';
import { findOauthClients, findOauthLogins, updateOauthClientSealed, updateOauthLoginSealed } from '../store/oauth.ts';
import { grantContextOf } from './account-checks.ts';
import { clientContextOf } from './flow.ts';
import { contextOf } from './token-cache.ts';

export function sealedTokens(db: Database, accounts: Pick<Accounts, 'reload'>): SealedStore[] {
  const idOf = (...parts: string[]) => JSON.stringify(parts);
  const partsOf = (id: string) => JSON.parse(id) as [string, string];
  return [
    {
      name: 'account',
      async find() {
        const rows = await findAccounts(db);
        return rows.flatMap(({ id, sealed }) => (sealed === null ? [] : [{ id, context: grantContextOf(id), sealed }]));
      },
      async replace(id, before, after) {
        if (!(await updateAccountSealed(db, id, before, after))) return false;
        await accounts.reload(id);
        return true;
      },
    },
    {
      name: 'login',
      async find() {
        const rows = await findOauthLogins(db);
        return rows.flatMap((row) =>
          row.sealed === null
            ? []
            : [{ id: idOf(row.server_id, row.principal), context: contextOf(row), sealed: row.sealed }],
        );
      },
      replace(id, before, after) {
        const [server_id, principal] = partsOf(id);
        return updateOauthLoginSealed(db, { server_id, principal }, before, after);
      },
    },
    {
      name: 'OAuth client',
      async find() {
        const rows = await findOauthClients(db);
        return rows.map(({ server_id, issuer, sealed }) => ({
          id: idOf(server_id, issuer),
          context: clientContextOf(server_id, issuer),
          sealed,
        }));
      },
      replace(id, before, after) {
        const [server_id, issuer] = partsOf(id);
        return updateOauthClientSealed(db, { server_id, issuer }, before, after);
      },
    },
  ];
}
