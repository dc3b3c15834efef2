/**
 * Replicas that share a PostgreSQL database: heartbeat, exchange of changes, and leases, with which one replica at a
 * time discovers, checks and classifies a server. Inactive with an embedded database.
 *
 * Leases are rows that expire by the database's clock and are renewed with the heartbeat. Advisory locks would end with
 * their connection: too early when PostgreSQL restarts, and too late when a host freezes.
 */
import { randomBytes } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import type { Changes, ReplicatedChange } from '../changes.ts';
import { describe } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Registry, ReplicaView, Server } from '../registry/registry.ts';
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
import type { Notice } from './notice.ts';
import type { Redis } from './redis.ts';

interface Replicas {
  /** Identifies this process; new at every start. */
  readonly id: string;
  readonly redis: Redis | undefined;
  /** Whether this replica leads the shared work on a server. */
  leads(serverId: string): boolean;
  /** The same, but true for every replica while the database is unavailable. */
  leadsOrAlone(serverId: string): boolean;
  /** The address of another running replica. */
  addressOf(replicaId: string): string | undefined;
  /** The other running replicas. */
  others(): readonly string[];
  /** Starts; other replicas reach this one at `address`. */
  start(address: string, registry: Registry): Promise<void>;
  /** Releases the leases while the last requests are answered. */
  resign(): Promise<void>;
  close(): Promise<void>;
}

interface ReplicaOptions {
  db: Database;
  changes: Changes;
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
    leads: () => true,
    leadsOrAlone: () => true,
    addressOf: () => undefined,
    others: () => [],
    start: async () => undefined,
    resign: async () => undefined,
    close: async () => undefined,
  };
}

async function createMember(
  id: string,
  { db, changes, databaseUrl, redisUrl, log }: ReplicaOptions & { databaseUrl: string },
): Promise<Replicas> {
  const early: Notice[] = [];
  let registry: Registry | undefined;
  let address = '';
  let leased = new Set<string>();
  /** Monotonic, counted from before the renewal was sent, so that we stop before another replica starts. */
  let leasedUntil = 0;
  let addresses = new Map<string, string>();
  let delivering: Promise<void> = Promise.resolve();
  let beating: Promise<void> | undefined;
  let again = false;
  let timer: NodeJS.Timeout | undefined;
  let offChanges = () => {};
  let resigned = false;
  let closed = false;

  const bus: Bus = await createBus({ db, databaseUrl, redisUrl, self: id, log, onNotice: handle });
  changes.sendTo(bus.send);

  function handle(notice: Notice): void {
    if (registry === undefined) return void early.push(notice);
    if (notice.topic === 'replica.statuses') return beatSoon(0);
    deliver(notice);
  }

  /** One at a time, in the order received. */
  function deliver(change: ReplicatedChange): void {
    delivering = delivering
      .then(() => (closed ? undefined : changes.deliver(change)))
      .catch((error: unknown) => {
        log.warn({ topic: change.topic, error: describe(error) }, 'a change of another replica was not applied');
        // The database was unavailable: read everything again when it is back.
        setTimeout(() => deliver(change), beatEveryMs).unref();
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
    if (registry === undefined) return;
    const startedAt = performance.now();
    const statuses = statusesOf(registry);
    await upsertReplica(db, { id, address });
    await upsertReplicaStatuses(db, id, statuses);
    const names = resigned
      ? []
      : registry
          .list()
          .filter(isLeasable)
          .map((server) => server.id);
    const held = new Set(await upsertLeases(db, id, names, leaseMs));
    const gained = [...held].filter((name) => !leads(name));
    if ((await deleteLeasesBut(db, id, names)) || gained.length > 0 || changed(statuses)) sendStatuses();
    leased = held;
    leasedUntil = startedAt + leaseMs;
    const living = (await findLivingReplicas(db, deadAfterMs)).filter((replica) => replica.id !== id);
    addresses = new Map(living.map((replica) => [replica.id, replica.address]));
    if (closed) return;
    registry.recordOtherReplicas(viewsOf(living));
    for (const server_id of gained) changes.publish('lease.gained', { server_id });
  }

  let told = '';
  function changed(statuses: ReplicaStatus[]): boolean {
    const text = JSON.stringify(statuses);
    if (text === told) return false;
    told = text;
    return true;
  }

  const leads = (serverId: string) => leased.has(serverId) && performance.now() < leasedUntil;
  const sendStatuses = () => bus.send({ topic: 'replica.statuses', payload: {} });

  return {
    id,
    redis: bus.redis,
    leads,
    leadsOrAlone: (serverId) => leads(serverId) || performance.now() >= leasedUntil,
    addressOf: (replicaId) => addresses.get(replicaId),
    others: () => [...addresses.keys()],
    async start(ownAddress, ownRegistry) {
      address = ownAddress;
      registry = ownRegistry;
      for (const notice of early.splice(0)) handle(notice);
      await exchange();
      beatSoon(beatEveryMs);
      const offs = [
        changes.subscribe('server.status', () => beatSoon(reportAfterMs)),
        changes.subscribe('server.opened', () => beatSoon(reportAfterMs)),
      ];
      offChanges = () => {
        for (const off of offs) off();
      };
    },
    async resign() {
      offChanges();
      resigned = true;
      await beating;
      await exchange().catch((error: unknown) =>
        log.warn({ error: describe(error) }, 'could not give up the leases of this replica; they expire'),
      );
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      await Promise.all([beating, delivering]);
      await deleteReplica(db, id).then(sendStatuses, (error: unknown) =>
        log.warn({ error: describe(error) }, 'could not sign off this replica; its lease expires'),
      );
      await bus.close();
    },
  };
}

/** A server whose lists are being read for the first time is not CONNECTED yet. */
function isLeasable({ lifecycle: { status }, session }: Server): boolean {
  return status === 'CONNECTED' || status === 'DEGRADED' || session === 'open';
}

function statusesOf(registry: Registry): ReplicaStatus[] {
  return registry.list().map(({ id, lifecycle, error_message }) => ({
    server_id: id,
    status: lifecycle.status,
    error: error_message,
  }));
}

function viewsOf(replicas: readonly { id: string; statuses: ReplicaStatus[] }[]): Map<string, ReplicaView[]> {
  const views = new Map<string, ReplicaView[]>();
  for (const { id, statuses } of replicas) {
    for (const { server_id, status, error } of statuses) {
      views.set(server_id, [...(views.get(server_id) ?? []), { id, status, error }]);
    }
  }
  return views;
}

/** Replaces a wildcard address with an address of this host. */
export function advertisedAddress(host: string, port: number): string {
  const anywhere = host === '0.0.0.0' || host === '::';
  const outward = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4');
  const name = anywhere ? (outward?.address ?? '127.0.0.1') : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
