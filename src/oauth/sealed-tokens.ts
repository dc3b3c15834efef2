/** What OAuth keeps sealed, for the rotation of the key. */
import type { SealedStore } from '../security/reseal.ts';
import type { Database } from '../store/database.ts';
import { findOauthClients, findOauthLogins, updateOauthClientSealed, updateOauthLoginSealed } from '../store/oauth.ts';
import { clientContextOf } from './flow.ts';
import { contextOf } from './token-cache.ts';

export function sealedTokens(db: Database): SealedStore[] {
  const idOf = (...parts: string[]) => JSON.stringify(parts);
  const partsOf = (id: string) => JSON.parse(id) as [string, string];
  return [
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
