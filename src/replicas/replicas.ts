/**
 * This process among those that share a PostgreSQL: its sign of life, what it hears from the others and tells them, and
 * the leases by which one of them at a time discovers, checks and classifies a server. With an embedded database there
 * is only us, and nothing of this costs anything.
 *
 * Leases are rows that expire by the database's clock, renewed with the sign of life. Advisory locks would end with
 * their connection: too early when PostgreSQL restarts, and too late when a host freezes.
 */
import { randomBytes } from 'node:crypto';
import { describe } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Database } from '../store/database.ts';
import {
  deleteLeasesBut,
  deleteReplica,
  findLivingReplicas,
  type ReplicaStatus,
  upsertLeases,
  upsertReplica,
  upsertReplicaStatuses,
} from '../store/replicas.ts';
import { type Bus, createBus } from './bus.ts';
import type { Change } from './change.ts';
import type { Redis } from './redis.ts';

export interface Replicas {
  /** Of this process; another after every start. */
  readonly id: string;
  readonly redis: Redis | undefined;
  publish(change: Change): void;
  /** Whether the shared work on a server is ours. */
  leads(serverId: string): boolean;
  /** The same while the database answers; without it each looks after itself. */
  leadsOrAlone(serverId: string): boolean;
  /** Where another living replica can be reached. */
  addressOf(replicaId: string): string | undefined;
  /** Something that the others see of us changed. */
  report(): void;
  start(address: string, part: Part): Promise<void>;
  /** Gives the shared work to the others while the last requests are answered. */
  resign(): Promise<void>;
  close(): Promise<void>;
}

/** What the rest of the process contributes, and does with what it hears. */
export interface Part {
  statuses(): ReplicaStatus[];
  /** One at a time, in the order heard. */
  onChange(change: Change): Promise<void>;
  onOthers(others: { id: string; statuses: ReplicaStatus[] }[]): void;
  /** We lead the shared work on this server from now on. */
  onLead(serverId: string): void;
}

export interface ReplicaOptions {
  db: Database;
  databaseUrl: string | undefined;
  redisUrl: string | undefined;
  log: Logger;
}

const beatEveryMs = 2_000;
const leaseMs = 10_000;
const deadAfterMs = 10_000;
/** Several servers often change their status at once. */
const reportAfterMs = 20;

export async function createReplicas(options: ReplicaOptions): Promise<Replicas> {
  const id = randomBytes(6).toString('hex');
  return options.databaseUrl === undefined
    ? onlyReplica(id)
    : await createMember(id, { ...options, databaseUrl: options.databaseUrl });
}

function onlyReplica(id: string): Replicas {
  return {
    id,
    redis: undefined,
    publish: () => undefined,
    leads: () => true,
    leadsOrAlone: () => true,
    addressOf: () => undefined,
    report: () => undefined,
    start: async () => undefined,
    resign: async () => undefined,
    close: async () => undefined,
  };
}

async function createMember(
  id: string,
  { db, databaseUrl, redisUrl, log }: ReplicaOptions & { databaseUrl: string },
): Promise<Replicas> {
  const early: Change[] = [];
  let part: Part | undefined;
  let address = '';
  let leased = new Set<string>();
  /** By our own monotonic clock, counted from before the renewal was sent: we stop before the others begin. */
  let leasedUntil = 0;
  let addresses = new Map<string, string>();
  let hearing: Promise<void> = Promise.resolve();
  let beating: Promise<void> | undefined;
  let again = false;
  let timer: NodeJS.Timeout | undefined;
  let resigned = false;
  let closed = false;

  const bus: Bus = await createBus({ db, databaseUrl, redisUrl, self: id, log, onChange: handle });

  function handle(change: Change): void {
    if (part === undefined) return void early.push(change);
    const { onChange } = part;
    if (change.kind === 'statuses') return beatSoon(0);
    hearing = hearing
      .then(() => (closed ? undefined : onChange(change)))
      .catch((error: unknown) => {
        log.warn({ change: change.kind, error: describe(error) }, 'a change of another replica was not taken');
        // The database did not answer: when it does, nothing may be missing.
        setTimeout(() => handle(change), beatEveryMs).unref();
      });
  }

  function beatSoon(afterMs: number): void {
    if (closed) return;
    clearTimeout(timer);
    timer = setTimeout(beat, afterMs).unref();
  }

  function beat(): void {
    if (beating !== undefined) {
      again = true;
      return;
    }
    again = false;
    beating = exchange()
      .catch((error: unknown) => log.warn({ error: describe(error) }, 'no sign of life to the other replicas'))
      .finally(() => {
        beating = undefined;
        beatSoon(again ? reportAfterMs : beatEveryMs);
      });
  }

  async function exchange(): Promise<void> {
    if (part === undefined) return;
    const startedAt = performance.now();
    const statuses = part.statuses();
    await upsertReplica(db, { id, address });
    await upsertReplicaStatuses(db, id, statuses);
    const wanted = statuses.filter(({ status }) => !resigned && (status === 'CONNECTED' || status === 'DEGRADED'));
    const names = wanted.map(({ server_id }) => server_id);
    const held = new Set(await upsertLeases(db, id, names, leaseMs));
    const gained = [...held].filter((name) => !leads(name));
    if ((await deleteLeasesBut(db, id, names)) || gained.length > 0 || changed(statuses)) publish({ kind: 'statuses' });
    leased = held;
    leasedUntil = startedAt + leaseMs;
    const living = (await findLivingReplicas(db, deadAfterMs)).filter((replica) => replica.id !== id);
    addresses = new Map(living.map((replica) => [replica.id, replica.address]));
    if (closed) return;
    part.onOthers(living);
    for (const serverId of gained) part.onLead(serverId);
  }

  let told = '';
  function changed(statuses: ReplicaStatus[]): boolean {
    const text = JSON.stringify(statuses);
    if (text === told) return false;
    told = text;
    return true;
  }

  const leads = (serverId: string) => leased.has(serverId) && performance.now() < leasedUntil;
  const publish = (change: Change) => bus.publish(change);

  return {
    id,
    redis: bus.redis,
    publish,
    leads,
    leadsOrAlone: (serverId) => leads(serverId) || performance.now() >= leasedUntil,
    addressOf: (replicaId) => addresses.get(replicaId),
    report: () => beatSoon(reportAfterMs),
    async start(ownAddress, given) {
      address = ownAddress;
      part = given;
      for (const change of early.splice(0)) handle(change);
      await exchange();
      beatSoon(beatEveryMs);
    },
    async resign() {
      resigned = true;
      await beating;
      // Where the database does not answer, the leases run out by themselves.
      await exchange().catch(() => undefined);
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await Promise.all([beating, hearing]);
      // Where the database is gone, the lease runs out by itself.
      await deleteReplica(db, id).then(
        () => publish({ kind: 'statuses' }),
        () => undefined,
      );
      await bus.close();
    },
  };
}
