/** The credentials of servers, for the rotation of the key. */
import type { SealedStore } from '../security/reseal.ts';
import type { Database } from '../store/database.ts';
import { findServers, updateSealed } from '../store/servers.ts';
import type { Registry } from './registry.ts';

export function sealedConnections(db: Database, registry: Registry): SealedStore {
  return {
    name: 'server',
    async find() {
      const { rows } = await findServers(db);
      return rows.map(({ id, connection_config: { sealed } }) => ({ id, context: id, sealed }));
    },
    async replace(id, before, after) {
      if (!(await updateSealed(db, id, before, after))) return false;
      await registry.takeChanges(id);
      return true;
    },
  };
}
