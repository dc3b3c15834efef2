import type { Migration } from '../migrate.ts';

/** A keyed hash of the connection as it was imported: a server that an admin repaired is still known to be that one. */
export const importedAs: Migration = {
  name: '054-imported-as',
  statements: () => ['alter table external_servers add column imported_as text'],
};
