/** What this replica finds out about servers while it talks with them. */
import { isDeepStrictEqual } from 'node:util';
import type { Changes } from '../changes.ts';
import type { JsonObject } from '../json-rpc.ts';
import type { Logger } from '../log.ts';
import type { Secrets } from '../security/secrets.ts';
import type { SessionEvidence } from '../store/schema.ts';
import { type Lifecycle, type LifecycleEvent, transition } from './lifecycle.ts';
import { overallStatus, type ReplicaView, type Server, statusPatch } from './server-record.ts';
import type { ServerTable } from './server-table.ts';
import { ownershipOf } from './session-ownership.ts';

export interface Observations {
  /** The state machine's only entry; undefined when the event is illegal in the server's state. */
  apply(id: string, event: LifecycleEvent, note?: TransitionNote): Lifecycle | undefined;
  recordIdentity(id: string, identity: Identity): void;
  recordVerdict(id: string, verdict: { era: 'modern' | 'legacy'; checkedAt: string }): void;
  /** The server sent its client a request. */
  recordAsked(id: string, method: string, how: { atStart: boolean }): void;
  /** What its tools say about the state they keep, or undefined. */
  recordStateful(id: string, reason: string | undefined): void;
  recordLogin(id: string, login: Server['login']): void;
  recordSession(id: string, session: Server['session']): void;
  recordHealth(id: string, at: string): void;
  recordToolCount(id: string, count: number): void;
  /** What is wrong with the lists of a connected server, or null when nothing is. */
  recordDiscovery(id: string, problem: string | null): void;
  /** All lists of the server were read. */
  recordDiscovered(id: string): void;
  recordOtherReplicas(views: ReadonlyMap<string, readonly ReplicaView[]>): void;
}

interface Identity {
  era: 'modern' | 'legacy';
  protocolVersion: string;
  capabilities: JsonObject;
  serverInfo: JsonObject;
  instructions?: string;
}

interface TransitionNote {
  error?: string;
  stderr?: readonly string[];
  details?: JsonObject;
}

/** A server names the methods: a few are known, any number can be invented. */
const maxAsked = 10;

export function createObservations(deps: {
  table: ServerTable;
  changes: Changes;
  log: Logger;
  secrets: Secrets;
}): Observations {
  const { table, changes, log, secrets } = deps;

  const publishUpdated = ({ id, name }: Server) => changes.publish('server.updated', { server_id: id, name });

  function apply(id: string, event: LifecycleEvent, note: TransitionNote = {}): Lifecycle | undefined {
    const server = table.find(id);
    if (server === undefined) return undefined;
    const { name, lifecycle: previous } = server;
    const next = transition(previous, event);
    if (next === undefined) {
      log.debug({ server: name, status: previous.status, event }, 'event is illegal in this state');
      return undefined;
    }
    const moved = table.put({ ...server, lifecycle: next });
    const { error, stderr, details } = note;
    const at = new Date().toISOString();
    // A parked server that was started: only the time of its connection is another.
    if (next.status === previous.status && event === 'connect_succeeded') table.change(moved, { connected_at: at });
    if (next.status === previous.status) return next;

    const masked = error === undefined ? undefined : secrets.mask(error, id);
    const { error_message } = table.change(moved, statusPatch(next.status, event, { error: masked, stderr, at }));
    table.record(id, next.status, {
      from: previous.status,
      event,
      ...details,
      ...(error === undefined ? {} : { error }),
      ...(stderr === undefined || stderr.length === 0 ? {} : { stderr: stderr.slice(-10) }),
    });
    const level = next.status === 'ERROR' || next.status === 'DEGRADED' ? 'warn' : 'info';
    log[level]({ server: name, from: previous.status, status: next.status, error }, 'server status');
    changes.publish('server.status', {
      server_id: id,
      name,
      status: next.status,
      previous: previous.status,
      error_message,
    });
    return next;
  }

  function recordEvidence(id: string, session_evidence: SessionEvidence): void {
    const server = table.find(id);
    if (server === undefined) return;
    const changed = table.change(server, { session_evidence });
    const before = ownershipOf(server);
    const after = ownershipOf(changed);
    if (before.ownership === after.ownership) return;
    table.record(id, 'SESSIONS', { ...after, before: before.ownership });
    publishUpdated(changed);
  }

  return {
    apply,
    recordIdentity(id, identity) {
      table.change(table.get(id), {
        protocol_version: identity.protocolVersion,
        server_info: secrets.maskJson(identity.serverInfo, id),
        capabilities: identity.capabilities,
        instructions: identity.instructions === undefined ? null : secrets.mask(identity.instructions, id),
      });
    },
    recordVerdict(id, verdict) {
      const server = table.find(id);
      if (server === undefined || (server.era === verdict.era && server.era_checked_at !== null)) return;
      table.change(server, { era: verdict.era, era_checked_at: verdict.checkedAt });
    },
    recordAsked(id, method, { atStart }) {
      const evidence = table.find(id)?.session_evidence ?? {};
      const asked = atStart ? 'asked_at_start' : 'asked';
      if (evidence[asked]?.includes(method)) return;
      recordEvidence(id, { ...evidence, [asked]: [...(evidence[asked] ?? []), method].slice(0, maxAsked) });
    },
    recordStateful(id, stateful) {
      const { stateful: before, ...rest } = table.find(id)?.session_evidence ?? {};
      if (before !== stateful) recordEvidence(id, stateful === undefined ? rest : { ...rest, stateful });
    },
    recordLogin(id, login) {
      const server = table.find(id);
      if (server === undefined || server.login === login) return;
      table.put({ ...server, login });
      if (login !== null) table.record(id, 'LOGIN', { login });
      publishUpdated(server);
    },
    recordSession(id, session) {
      const server = table.find(id);
      if (server === undefined || server.session === session) return;
      // What was wrong before says nothing about the new session; what is found out about it comes after this.
      if (session === 'open') table.change({ ...server, session }, { error_message: null });
      else table.put({ ...server, session });
      if (session === 'parked' && server.session === 'open') table.record(id, 'PARKED', {});
      if (session === 'open' && server.session === 'parked') table.record(id, 'STARTED', {});
      publishUpdated(server);
    },
    recordHealth(id, at) {
      const server = table.find(id);
      if (server !== undefined) table.change(server, { last_health_check: at });
    },
    recordToolCount(id, count) {
      const server = table.find(id);
      if (server !== undefined && server.tool_count !== count) table.put({ ...server, tool_count: count });
    },
    recordDiscovery(id, problem) {
      const server = table.find(id);
      if (server?.session !== 'open' || server.error_message === problem) return;
      table.change(server, { error_message: problem });
      publishUpdated(server);
    },
    recordDiscovered(id) {
      const server = table.find(id);
      if (server !== undefined) table.change(server, { discovered_at: new Date().toISOString() });
    },
    recordOtherReplicas(views) {
      for (const server of table.all()) {
        const elsewhere = views.get(server.id) ?? [];
        if (isDeepStrictEqual(elsewhere, server.elsewhere)) continue;
        const seen = table.put({ ...server, elsewhere });
        if (overallStatus(seen).status !== overallStatus(server).status) publishUpdated(seen);
      }
    },
  };
}
