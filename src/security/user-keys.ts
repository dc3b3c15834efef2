/**
 * What users entered for servers that ask each of them for a key: sealed in the store and in memory, opened for a
 * connection only. A key goes to the place that it was entered for and to no other.
 */
import { createHash } from 'node:crypto';
import type { Changes } from '../changes.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Database } from '../store/database.ts';
import type { UserKeyRow } from '../store/schema.ts';
import { createStoredCollection } from '../store/stored-collection.ts';
import {
  deleteUserKey,
  deleteUserKeysOf,
  findUserKeys,
  updateUserKeySealed,
  upsertUserKey,
} from '../store/user-keys.ts';
import type { Vault } from './credentials.ts';
import type { SealedStore } from './reseal.ts';

/** A server whose connection refers to keys of its users. */
export interface KeyTarget {
  readonly serverId: string;
  /** Where the keys are sent. */
  readonly place: string;
  readonly names: readonly string[];
}

export interface UserKeys {
  /** When each of the names was entered; null where it was not, or for another place. */
  entered(target: KeyTarget, user: string): Map<string, string | null>;
  /** Those that were entered. */
  open(target: KeyTarget, user: string): Record<string, string>;
  /** The admin whose keys the lists of the server are read with: the first who entered all of them. */
  findAdmin(target: KeyTarget): string | undefined;
  set(target: KeyTarget, user: string, name: string, value: string): Promise<void>;
  /** False where there was none. */
  remove(serverId: string, user: string, name: string): Promise<boolean>;
  /** For the rotation of the key that seals them. */
  readonly sealed: SealedStore;
  close(): Promise<void>;
}

interface UserKeyDependencies {
  db: Database;
  vault: Vault;
  changes: Changes;
  log: Logger;
  isAdmin: (user: string) => boolean;
  /** The user's token was revoked or has expired, or the account was removed. */
  isEnded: (user: string) => boolean;
}

interface SealedKey {
  value: string;
  place: string;
}

/** The user's keys for one server. */
type KeyRows = readonly UserKeyRow[];

export async function createUserKeys(deps: UserKeyDependencies): Promise<UserKeys> {
  const { db, vault, changes, log } = deps;
  const pending = new Set<Promise<void>>();
  const keys = await createStoredCollection<string, KeyRows>({
    async load(key) {
      const [server_id, principal] = key === undefined ? [] : partsOf(key);
      return Map.groupBy(await findUserKeys(db, { server_id, principal }), placeOf);
    },
    onReloaded(before, after) {
      for (const key of new Set([...before.keys(), ...after.keys()]))
        publishIfChanged(key, before.get(key), after.get(key));
    },
  });

  const offs = [
    changes.follow('user_keys.stored', ({ server_id, user }) => reload(keyOf(server_id, user))),
    changes.follow('store.replaced', () => keys.reload()),
    changes.subscribe('server.removed', ({ server_id }) => {
      const gone = [...keys.entries.keys()].filter((key) => partsOf(key)[0] === server_id);
      // The store has deleted them with the server.
      if (gone.length > 0) track(keys.reload());
    }),
    changes.subscribe('principal.ended', ({ principal_id, suspended }) => {
      if (suspended !== true) track(forget(principal_id));
    }),
  ];
  for (const user of new Set([...keys.entries.values()].flat().map(({ principal }) => principal)))
    if (deps.isEnded(user)) await forget(user);

  function publishIfChanged(key: string, before: KeyRows | undefined, after: KeyRows | undefined): void {
    const sealedIn = (rows: KeyRows = []) => rows.map(({ name, updated_at }) => `${name} ${updated_at}`).join();
    if (sealedIn(before) !== sealedIn(after)) publishChanged(...partsOf(key));
  }

  const publishChanged = (server_id: string, user: string) => changes.publish('user_keys.changed', { server_id, user });

  async function reload(key: string): Promise<void> {
    const before = keys.entries.get(key);
    await keys.reload(key);
    publishIfChanged(key, before, keys.entries.get(key));
  }

  function track(task: Promise<void>): void {
    const kept = task
      .catch((error: unknown) => log.warn({ err: error }, 'could not delete the keys of a user'))
      .finally(() => pending.delete(kept));
    pending.add(kept);
  }

  /** At every replica, whichever is first. */
  async function forget(user: string): Promise<void> {
    const own = [...keys.entries.keys()].filter((key) => partsOf(key)[1] === user);
    if (own.length === 0) return;
    await keys.change(async (entries) => {
      await deleteUserKeysOf(db, user);
      for (const key of own) entries.delete(key);
    });
    for (const key of own) publishChanged(...partsOf(key));
  }

  const rowsOf = (serverId: string, user: string): KeyRows => keys.entries.get(keyOf(serverId, user)) ?? [];

  /** Undefined where it was sealed with a key that is not configured: the user enters it again. */
  function openRow(row: UserKeyRow): SealedKey | undefined {
    try {
      return vault.open(row.sealed, userKeyContextOf(row)) as SealedKey;
    } catch (error) {
      if (error instanceof AppError && error.code === 'CREDENTIAL_UNREADABLE') return undefined;
      throw error;
    }
  }

  const usableRows = ({ serverId, place, names }: KeyTarget, user: string): (UserKeyRow & SealedKey)[] =>
    rowsOf(serverId, user).flatMap((row) => {
      if (!names.includes(row.name)) return [];
      const key = openRow(row);
      return key?.place === place ? [{ ...row, ...key }] : [];
    });

  /** As it is stored now, for this process and for the others. */
  async function publishStored(server_id: string, user: string): Promise<void> {
    await reload(keyOf(server_id, user));
    changes.publish('user_keys.stored', { server_id, user });
  }

  return {
    entered(target, user) {
      const rows = new Map(usableRows(target, user).map(({ name, updated_at }) => [name, updated_at]));
      return new Map(target.names.map((name) => [name, rows.get(name) ?? null]));
    },
    open: (target, user) => Object.fromEntries(usableRows(target, user).map(({ name, value }) => [name, value])),
    findAdmin(target) {
      const ofServer = [...keys.entries].filter(([key]) => partsOf(key)[0] === target.serverId);
      const users = ofServer.sort(([, a], [, b]) => firstTime(a) - firstTime(b)).map(([key]) => partsOf(key)[1]);
      return users.find((user) => deps.isAdmin(user) && usableRows(target, user).length === target.names.length);
    },
    async set({ serverId: server_id, place }, user, name, value) {
      const row = { server_id, principal: user, name };
      const sealed = vault.seal({ value, place } satisfies SealedKey, userKeyContextOf(row));
      await upsertUserKey(db, { ...row, sealed, updated_at: new Date().toISOString() });
      await publishStored(server_id, user);
    },
    async remove(server_id, user, name) {
      const existed = await deleteUserKey(db, { server_id, principal: user, name });
      await publishStored(server_id, user);
      return existed;
    },
    sealed: {
      name: 'key of a user',
      async find() {
        const rows = await findUserKeys(db);
        return rows.map((row) => ({ id: idOf(row), context: userKeyContextOf(row), sealed: row.sealed }));
      },
      async replace(id, before, after) {
        const [server_id, principal, name] = JSON.parse(id) as [string, string, string];
        if (!(await updateUserKeySealed(db, { server_id, principal, name }, before, after))) return false;
        await keys.reload(keyOf(server_id, principal));
        return true;
      },
    },
    async close() {
      for (const off of offs) off();
      await Promise.all(pending);
    },
  };
}

type KeyPlace = Pick<UserKeyRow, 'server_id' | 'principal' | 'name'>;

const keyOf = (serverId: string, user: string) => JSON.stringify([serverId, user]);
const partsOf = (key: string) => JSON.parse(key) as [string, string];
const placeOf = ({ server_id, principal }: UserKeyRow) => keyOf(server_id, principal);
const idOf = ({ server_id, principal, name }: KeyPlace) => JSON.stringify([server_id, principal, name]);
const firstTime = (rows: KeyRows) => Math.min(...rows.map(({ updated_at }) => Date.parse(updated_at)));

/** What a key is sealed for: it opens in its own row only. */
export function userKeyContextOf(row: KeyPlace): string {
  return `user-key:${createHash('sha256').update(idOf(row)).digest('hex')}`;
}
