/** Builds the MCP module. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Catalog } from '../catalog/catalog.ts';
import type { Profiles } from '../catalog/profiles.ts';
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { AppError, RpcError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Registry } from '../registry/registry.ts';
import type { RequestBodies } from '../request-bodies.ts';
import type { RequestContext } from '../request-context.ts';
import type { Router } from '../routing/router.ts';
import type { Principal } from '../security/auth.ts';
import type { ThrottledRequestAuthenticator } from '../security/authentication-throttle.ts';
import type { Vault } from '../security/credentials.ts';
import type { Database } from '../store/database.ts';
import { version } from '../version.ts';
import { createBridge } from './bridge.ts';
import { createEndpoint } from './endpoint.ts';
import { createGatewayTools, type GatewayToolDependencies } from './gateway-tools.ts';
import { createInternalTools, type InternalTools } from './internal-tools.ts';
import { createLegacyEndpoint } from './legacy.ts';
import type { SessionForwarder } from './legacy-transport.ts';
import { createListPreview, type PreviewList } from './list-tokens.ts';
import { createMethods } from './methods.ts';
import { createModernEndpoint } from './modern.ts';
import { createModernClients } from './modern-clients.ts';
import { createReplies } from './reply.ts';
import { createResourceOwners } from './resource-owners.ts';
import { createSessionIds } from './session-ids.ts';
import { createSessionRecords } from './session-records.ts';
import { createTaskIds } from './task-ids.ts';

interface McpDependencies extends GatewayToolDependencies {
  config: Config;
  log: Logger;
  changes: Changes;
  vault: Vault;
  requestBodies: RequestBodies;
  requestAuthenticator: ThrottledRequestAuthenticator;
  registry: Registry;
  catalog: Catalog;
  profiles: Profiles;
  router: Router;
  db: Database;
  replicas: { id: string; others(): readonly string[] };
  forwarder?: SessionForwarder;
  admitCall?: (principal: Principal) => Promise<void>;
}

interface Mcp {
  handle(request: IncomingMessage, response: ServerResponse, context: RequestContext): boolean;
  /** Our own tools, for callers without an MCP client. */
  readonly internalTools: InternalTools;
  /** What a client of a profile would be listed, and what that costs. */
  readonly previewList: PreviewList;
  readonly sessions: { legacy: number; listening: number; parked: number };
  /** Takes nothing new and ends what waits for nothing; resolves when every call is answered. */
  drain(): Promise<number>;
  close(): Promise<void>;
}

export function createMcp(deps: McpDependencies): Mcp {
  const { config, log, changes, registry, catalog, router, profiles } = deps;
  const ourInfo = { name: 'mcp-aggregator', title: 'MCP Aggregator', version };
  const onFailure = (error: unknown, method: string) => {
    if (!(error instanceof AppError || error instanceof RpcError))
      log.error({ err: error, method }, 'MCP request failed');
  };
  const owners = createResourceOwners(registry);
  const bridge = createBridge({ vault: deps.vault, router });
  const clients = createModernClients({
    returnMs: config.clientReturnMs,
    release: (ownerKey) => router.release(ownerKey),
  });
  const taskIds = createTaskIds(deps.vault, (name) => registry.findByName(name));
  const gatewayTools = createGatewayTools(deps);
  const listing = { catalog, owners, gatewayTools, listServers: () => registry.list() };
  const methods = createMethods({ ...listing, changes, router, bridge, taskIds });
  const replies = createReplies();
  const shared = {
    methods,
    router,
    owners,
    changes,
    ourInfo,
    onFailure,
    findServer: (id: string) => registry.find(id),
  };
  const modern = createModernEndpoint({ ...shared, config, taskIds, clients });
  const records = createSessionRecords({
    db: deps.db,
    log,
    replicaId: deps.replicas.id,
    otherReplicas: deps.replicas.others,
  });
  const sessionIds = createSessionIds(deps.vault, deps.replicas.id);
  const legacy = createLegacyEndpoint({ ...shared, replies, config, sessionIds, records });
  const endpoint = createEndpoint({
    ...deps,
    modern,
    legacy,
    replies,
    onFailure,
    findProfile: (name) => profiles.find(name),
  });

  return {
    handle: endpoint.handle,
    internalTools: createInternalTools({
      methods,
      gatewayTools,
      config,
      registry,
      catalog,
      findProfile: (name) => profiles.find(name),
    }),
    previewList: createListPreview({ ...listing, config, registry }),
    async drain() {
      modern.stopListening();
      const [asked] = await Promise.all([endpoint.drain(), records.release()]);
      return asked;
    },
    get sessions() {
      return { legacy: legacy.sessions, listening: modern.listening, parked: bridge.parked };
    },
    async close() {
      bridge.close();
      clients.close();
      await legacy.close();
      await records.close();
      replies.close();
    },
  };
}
