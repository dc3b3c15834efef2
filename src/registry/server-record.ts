/** The record of one server as a value, and what an event or another replica makes of it. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { ServerRow } from '../store/schema.ts';
import type { ServerRowPatch } from '../store/servers.ts';
import { best, type Lifecycle, type LifecycleEvent, type Status } from './lifecycle.ts';
import type { Connection, ServerOptions, ServerPatch } from './server.ts';
import type { ToolOverrides } from './tool-overrides.ts';

/** Frozen, with everything in it: a change is another value under the same id, so that the current one is the registry's. */
export interface Server extends Readonly<Omit<ServerRow, 'options' | 'connection_config' | 'tool_overrides'>> {
  readonly options: ServerOptions;
  readonly tool_overrides: ToolOverrides;
  readonly lifecycle: Lifecycle;
  readonly sealed: string;
  /** What each user of the server enters; the connection refers to it. */
  readonly user_keys: readonly string[];
  /** Of the session that all callers share; `parked`: it is opened by the next call that needs it. */
  readonly session: 'none' | 'open' | 'parked';
  /** The server requires a login (OAuth) that was not made yet, or that no longer holds. */
  readonly login: 'required' | 'expired' | null;
  /** What the other living replicas say of it. */
  readonly elsewhere: readonly ReplicaView[];
}

export interface ReplicaView {
  /** Of the replica. */
  id: string;
  status: Status;
  error: string | null;
}

/** How a server is, seen from all replicas together. */
export function overallStatus(server: Server): { status: Status; error: string | null } {
  const own = { id: '', status: server.lifecycle.status, error: server.error_message };
  return best(own, server.elsewhere);
}

/** Columns that a record holds as the row does. */
export type RecordPatch = Omit<ServerRowPatch, 'options' | 'connection_config' | 'tool_overrides'>;

/** Another address may be another server: what was learned about the old one is void. */
const nothingLearned = { era: null, era_checked_at: null, session_evidence: {}, discovered_at: null };

export function toServer({ connection_config, options, tool_overrides, ...row }: ServerRow): Server {
  return {
    ...row,
    sealed: connection_config.sealed,
    user_keys: [],
    options: options as ServerOptions,
    tool_overrides: tool_overrides as ToolOverrides,
    lifecycle: { status: 'DISCONNECTED', failures: 0 },
    session: 'none',
    login: null,
    elsewhere: [],
  };
}

/** The columns that a patch by an admin changes; `sealed` is the patched connection's. */
export function toRowPatch(
  patch: ServerPatch,
  connection: { transport_type: Connection['transport_type']; sealed: string } | undefined,
): ServerRowPatch {
  const { description, health_check_url, auto_connect, options, tool_overrides } = patch;
  return {
    ...(description === undefined ? {} : { description }),
    ...(health_check_url === undefined ? {} : { health_check_url }),
    ...(auto_connect === undefined ? {} : { auto_connect }),
    ...(options === undefined ? {} : { options }),
    ...(tool_overrides === undefined ? {} : { tool_overrides }),
    ...(connection === undefined
      ? {}
      : {
          transport_type: connection.transport_type,
          connection_config: { sealed: connection.sealed },
          ...nothingLearned,
        }),
  };
}

/** Only what was patched: the rest of the row may be behind what is in memory. */
export function withRowPatch(server: Server, patch: ServerRowPatch, updated_at: string): Server {
  const { connection_config, options, tool_overrides, ...columns } = patch;
  return {
    ...server,
    ...columns,
    ...(options === undefined ? {} : { options: options as ServerOptions }),
    ...(tool_overrides === undefined ? {} : { tool_overrides: tool_overrides as ToolOverrides }),
    ...(connection_config === undefined ? {} : { sealed: connection_config.sealed }),
    updated_at,
  };
}

/** A session that runs depends on the changed options; what the aggregator query asks is no concern of it. */
export function needsOtherSession(before: ServerOptions, after: ServerOptions): boolean {
  const ofSession = ({ query_tools: _, query_readers: __, ...options }: ServerOptions) => options;
  return !isDeepStrictEqual(ofSession(before), ofSession(after));
}

/**
 * The record after another replica stored `row`: what admins decide is taken over, what this replica found out stays,
 * unless the connection moved.
 */
export function withStored(
  server: Server,
  row: ServerRow,
  moved: boolean,
): { server: Server; isChanged: boolean; reconnect: boolean } {
  const stored = toServer(row);
  const next: Server = {
    ...server,
    ...configured(stored),
    sealed: stored.sealed,
    updated_at: row.updated_at,
    ...(moved ? nothingLearned : {}),
  };
  return {
    server: next,
    isChanged: moved || !isDeepStrictEqual(configured(server), configured(next)),
    reconnect: moved || !isDeepStrictEqual(server.options, next.options),
  };
}

/** What admins decide about a server. */
function configured(server: Server) {
  const { name, description, transport_type, health_check_url, auto_connect, desired, origin } = server;
  const { options, tool_overrides } = server;
  return {
    name,
    description,
    transport_type,
    health_check_url,
    auto_connect,
    desired,
    origin,
    options,
    tool_overrides,
  };
}

/** The columns that follow a change of status; texts are masked already. */
export function statusPatch(
  status: Status,
  event: LifecycleEvent,
  { error, stderr, at }: { error?: string; stderr?: readonly string[]; at: string },
): RecordPatch {
  const patch: RecordPatch = { status };
  if (status === 'CONNECTED' && event !== 'connect_succeeded') patch.error_message = null;
  if (event === 'connect_succeeded') patch.connected_at = at;
  if (error !== undefined) patch.error_message = error;
  if (event === 'disconnected') patch.error_message = null;
  if (stderr !== undefined) patch.stderr_tail = stderr.join('\n');
  return patch;
}
