/** The people of an identity provider whom we remember: in memory, following the store. Who checks them is `oauth`. */
import type { Changes } from '../changes.ts';
import {
  deleteAccount,
  findAccount,
  findAccounts,
  insertAccount,
  updateAccount,
  updateAccountSeen,
  upsertAccount,
} from '../store/accounts.ts';
import type { Database } from '../store/database.ts';
import type { AccountRow } from '../store/schema.ts';
import { createStoredCollection } from '../store/stored-collection.ts';
import type { Principal } from './auth.ts';

export interface Account {
  readonly row: AccountRow;
  readonly principal: Principal;
  readonly checkedAtMs: number;
}

/** What a sign-in or a check found out about an account. */
export type AccountFacts = Pick<AccountRow, 'issuer' | 'name' | 'role' | 'profile' | 'rules'>;

export interface Accounts {
  list(): Account[];
  find(id: string): Account | undefined;
  /** Whose tokens are valid: undefined where the account has ended or cannot be checked. */
  findActive(id: string): Principal | undefined;
  /** The person signed in. Without `sealed`, the account cannot be checked, unless it could before. */
  signIn(id: string, facts: AccountFacts, sealed: string | undefined): Promise<Account>;
  /** Something is stored for the person, who may never have signed in here. */
  remember(id: string, facts: AccountFacts): Promise<void>;
  /** Undefined where it was changed since it was read. */
  change(before: AccountRow, changes: Partial<AccountRow>): Promise<Account | undefined>;
  /** As it is stored now. */
  reload(id: string): Promise<Account | undefined>;
  /** Access ends everywhere. `suspended`: what is stored for the person stays. */
  end(id: string, how: { suspended: boolean }): Promise<void>;
  /** Forgets the person. */
  remove(id: string): Promise<void>;
  recordSeen(id: string, at: string): Promise<void>;
}

export async function createAccounts({ db, changes }: { db: Database; changes: Changes }): Promise<Accounts> {
  const accounts = await createStoredCollection<string, Account>({
    async load(id) {
      const rows = id === undefined ? await findAccounts(db) : [await findAccount(db, id)];
      return rows.flatMap((row) => (row === undefined ? [] : [[row.id, toAccount(row)] as const]));
    },
    onReloaded(before) {
      for (const [id, account] of before) endChanged(id, account);
    },
  });
  changes.follow('accounts.stored', ({ account_id }) => reload(account_id));
  changes.follow('store.replaced', () => accounts.reload());

  const find = (id: string) => accounts.entries.get(id);

  /** What was opened with other rights ends; it is opened again with those of now. */
  function endChanged(id: string, before: Account | undefined): void {
    if (before === undefined || keepsRights(before, find(id))) return;
    changes.publish('principal.ended', { principal_id: id, suspended: true });
  }

  async function reload(id: string): Promise<Account | undefined> {
    const before = find(id);
    await accounts.reload(id);
    endChanged(id, before);
    return find(id);
  }

  function publishStored(id: string): void {
    changes.publish('accounts.stored', { account_id: id });
  }

  async function signIn(id: string, facts: AccountFacts, sealed: string | undefined): Promise<Account> {
    const known = find(id);
    const account = await accounts.change(async (entries) => {
      const before = entries.get(id)?.row;
      const now = laterThan(before?.updated_at);
      // An older grant still tells whether the account exists, unless it was refused.
      const kept = before !== undefined && before.ended_at === null ? before.sealed : null;
      const row: AccountRow = {
        id,
        ...facts,
        sealed: sealed ?? kept,
        created_at: before?.created_at ?? now,
        seen_at: now,
        checked_at: sealed === undefined ? (before?.checked_at ?? null) : now,
        ended_at: null,
        lease_until: null,
        updated_at: now,
      };
      await upsertAccount(db, row);
      const stored = toAccount(row);
      entries.set(id, stored);
      return stored;
    });
    publishStored(id);
    endChanged(id, known);
    return account;
  }

  async function change(before: AccountRow, changed: Partial<AccountRow>): Promise<Account | undefined> {
    const columns = { ...changed, lease_until: null, updated_at: laterThan(before.updated_at) };
    const next = { ...before, ...columns };
    const known = find(before.id);
    const account = await accounts.change(async (entries) => {
      if (!(await updateAccount(db, before, columns))) return undefined;
      const stored = toAccount(next);
      entries.set(next.id, stored);
      return stored;
    });
    // A mere confirmation is no news to the other replicas: they read it when they need it.
    if (account !== undefined && known !== undefined && !keepsRights(known, account)) {
      publishStored(before.id);
      endChanged(before.id, known);
    }
    return account;
  }

  async function end(id: string, { suspended }: { suspended: boolean }): Promise<void> {
    for (let row = find(id)?.row; row !== undefined; row = (await reload(id))?.row) {
      if (row.ended_at !== null && row.sealed === null) break;
      if ((await change(row, { sealed: null, ended_at: new Date().toISOString() })) !== undefined) break;
    }
    if (!suspended) changes.publish('principal.ended', { principal_id: id });
  }

  return {
    list: () => [...accounts.entries.values()],
    find,
    findActive(id) {
      const account = find(id);
      return account !== undefined && isCheckable(account) ? account.principal : undefined;
    },
    signIn,
    async remember(id, facts) {
      if (find(id) !== undefined) return;
      const now = new Date().toISOString();
      const row = { id, ...facts, sealed: null, created_at: now, seen_at: now, checked_at: null, ended_at: null };
      await accounts.change(() => insertAccount(db, { ...row, lease_until: null, updated_at: now }));
      await reload(id);
      publishStored(id);
    },
    change,
    reload,
    end,
    async remove(id) {
      await accounts.change(async (entries) => {
        await deleteAccount(db, id);
        entries.delete(id);
      });
      publishStored(id);
      changes.publish('principal.ended', { principal_id: id });
    },
    recordSeen: (id, at) =>
      accounts.change(async (entries) => {
        const account = entries.get(id);
        if (account === undefined) return;
        await updateAccountSeen(db, id, at);
        entries.set(id, { ...account, row: { ...account.row, seen_at: at } });
      }),
  };
}

/** The identity provider can be asked about it, and did not end it. */
export const isCheckable = ({ row }: Account): boolean => row.sealed !== null && row.ended_at === null;

/** Nothing that was allowed before is forbidden now, or the other way round. */
function keepsRights(before: Account, now: Account | undefined): boolean {
  if (now === undefined || (isCheckable(before) && !isCheckable(now))) return false;
  if (before.row.ended_at === null && now.row.ended_at !== null) return false;
  return before.row.role === now.row.role && before.row.profile === now.row.profile;
}

export function toAccount(row: AccountRow): Account {
  const { id, name, role, profile, checked_at: checkedAt } = row;
  return {
    row,
    principal: { id, name, role, servers: null, profile },
    checkedAtMs: checkedAt === null ? 0 : Date.parse(checkedAt),
  };
}

/** Also the row's version: two changes never carry the same time. */
function laterThan(before: string | undefined): string {
  const now = Date.now();
  return new Date(before === undefined ? now : Math.max(now, Date.parse(before) + 1)).toISOString();
}
