/** `subscriptions/listen` of 2026-07-28: one long answer that tells of changes. */
import { toAbortSignal } from '../cancellation.ts';
import type { Changes, Topics } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import { hopMeta, isObject, type JsonObject, type RequestId } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import type { Router } from '../routing/router.ts';
import type { Principal } from '../security/auth.ts';
import { requireRole, userOf } from '../security/policy.ts';
import type { ModernClients } from './modern-clients.ts';
import { type McpCall, maxSubscriptions } from './peer.ts';
import type { ResourceOwners } from './resource-owners.ts';
import { concerns } from './scope.ts';
import type { TaskIds } from './task-ids.ts';

export interface SubscriptionDependencies {
  config: Pick<Config, 'maxSessions' | 'maxSessionsPerPrincipal'>;
  router: Router;
  owners: ResourceOwners;
  taskIds: TaskIds;
  clients: ModernClients;
  changes: Changes;
  findServer: (id: string) => Server | undefined;
}

interface ModernSubscriptions {
  /** How many streams are open. */
  readonly open: number;
  listen(call: McpCall, id: RequestId): Promise<JsonObject>;
  /** Ends every stream, as the revision wants it: with an answer. */
  stop(): void;
}

type SendNotice = (method: string, notice: JsonObject) => void;

/** What one stream follows, by server and the server's own name for it: the name that the client uses. */
interface Followed {
  resources: Map<string, string>;
  tasks: Map<string, string>;
  releases: (() => Promise<void>)[];
}

export function createModernSubscriptions(deps: SubscriptionDependencies): ModernSubscriptions {
  const { changes, router } = deps;
  const stopped = new AbortController();
  /** By principal. */
  const streams = new Map<string, number>();
  const sum = () => [...streams.values()].reduce((all, own) => all + own, 0);

  /** A stream is to this revision what a session is to the others, and bounded like one. */
  function enter({ id }: Principal): () => void {
    const own = streams.get(id) ?? 0;
    if (own >= deps.config.maxSessionsPerPrincipal || sum() >= deps.config.maxSessions)
      throw new AppError('RATE_LIMITED', 'Too many subscriptions are open', { retryAfterSeconds: 5 });
    streams.set(id, own + 1);
    return () => {
      const left = (streams.get(id) ?? 0) - 1;
      if (left > 0) streams.set(id, left);
      else streams.delete(id);
    };
  }

  /** The acknowledgement first, then what the filter asks for, each tagged with the request's id. */
  async function listen(call: McpCall, id: RequestId): Promise<JsonObject> {
    const { caller, params } = call;
    const filter = isObject(params.notifications) ? params.notifications : {};
    const tag = { [hopMeta.subscriptionId]: id };
    const send: SendNotice = (method, notice) =>
      call.notify(method, { ...notice, _meta: { ...(isObject(notice._meta) ? notice._meta : {}), ...tag } });
    const followed: Followed = { resources: new Map(), tasks: new Map(), releases: [] };
    const revoked = new AbortController();

    /** What a session says that only this client uses. */
    const handleOwn = (method: string, notice: JsonObject, { id: server_id }: Server) => {
      if (method === 'notifications/resources/updated') sendUpdate(followed, send, server_id, notice.uri);
      if (method.startsWith('notifications/tasks')) sendTask(followed, send, { server_id, method, params: notice });
    };
    const leave = enter(caller.principal);
    const off = [
      ...(caller.modern === undefined ? [] : [deps.clients.attend(caller.modern, handleOwn)]),
      changes.subscribe('principal.ended', ({ principal_id }) => {
        if (principal_id === caller.principal.id) revoked.abort();
      }),
    ];
    try {
      // What cannot be had is left out of the acknowledgement; after it nothing is missed.
      const begin = [
        ...stringsIn(filter.resourceSubscriptions)
          .slice(0, maxSubscriptions)
          .map((uri) => watchResource(call, uri, followed)),
        ...stringsIn(filter.taskIds)
          .slice(0, maxSubscriptions)
          .map((taskId) => followTask(call, taskId, followed)),
      ];
      await Promise.allSettled(begin);
      const honoured = {
        ...(filter.resourceSubscriptions === undefined
          ? {}
          : { resourceSubscriptions: [...followed.resources.values()] }),
        ...(filter.taskIds === undefined ? {} : { taskIds: [...followed.tasks.values()] }),
      };
      send('notifications/subscriptions/acknowledged', { notifications: { ...filter, ...honoured } });
      off.push(...sendChanges(call, filter, followed, send));
      await aborted(AbortSignal.any([toAbortSignal(call.signal), stopped.signal, revoked.signal]));
      return { _meta: tag };
    } finally {
      leave();
      for (const stop of off) stop();
      // The client is gone, so a failure to end a subscription cannot be reported.
      for (const release of followed.releases) void release().catch(() => undefined);
    }
  }

  async function watchResource({ caller }: McpCall, uri: string, { resources, releases }: Followed): Promise<void> {
    requireRole(caller.principal, 'caller');
    const owner = deps.owners.find(caller.scope, uri, caller.principal);
    releases.push(await router.subscribe(owner.server, owner.uri, caller));
    resources.set(`${owner.server.id} ${owner.uri}`, uri);
  }

  async function followTask({ caller }: McpCall, id: string, { tasks, releases }: Followed): Promise<void> {
    const task = deps.taskIds.find(caller, id);
    if (task === undefined) return;
    releases.push(await router.follow(task.server, task.taskId, caller));
    tasks.set(`${task.server.id} ${task.taskId}`, id);
  }

  function sendChanges({ caller }: McpCall, filter: JsonObject, followed: Followed, send: SendNotice): (() => void)[] {
    return [
      changes.subscribe('task.changed', (changed) => sendTask(followed, send, changed)),
      changes.subscribe('catalog.changed', (changed) => {
        const server = deps.findServer(changed.server_id);
        if (changed.owner_key !== undefined && (server === undefined || caller.owner(server).key !== changed.owner_key))
          return;
        if (!concerns(caller.scope, server, changed.server_id)) return;
        for (const method of listChangesFor(changed, filter)) send(method, {});
      }),
      changes.subscribe('resource.updated', ({ server_id, uri, principal_id: only }) => {
        if (only !== undefined && only !== userOf(caller.principal)) return;
        sendUpdate(followed, send, server_id, uri);
      }),
    ];
  }

  return {
    get open() {
      return sum();
    },
    listen,
    stop: () => stopped.abort(),
  };
}

function sendUpdate({ resources }: Followed, send: SendNotice, serverId: string, uri: unknown): void {
  const known = typeof uri === 'string' ? resources.get(`${serverId} ${uri}`) : undefined;
  if (known !== undefined) send('notifications/resources/updated', { uri: known });
}

function sendTask({ tasks }: Followed, send: SendNotice, { server_id, method, params }: Topics['task.changed']): void {
  const { taskId } = params;
  const known = typeof taskId === 'string' ? tasks.get(`${server_id} ${taskId}`) : undefined;
  if (known !== undefined) send(method, { ...params, taskId: known });
}

function listChangesFor(changed: Topics['catalog.changed'], filter: JsonObject): string[] {
  const kinds = ['tools', 'prompts', 'resources'] as const;
  return kinds
    .filter((kind) => changed[kind] && filter[`${kind}ListChanged`] === true)
    .map((kind) => `notifications/${kind}/list_changed`);
}

const stringsIn = (list: unknown): string[] =>
  Array.isArray(list) ? list.filter((entry) => typeof entry === 'string') : [];

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
