/** Builds the MCP module. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Catalog } from '../catalog/catalog.ts';
import type { Profiles } from '../catalog/profiles.ts';
import type { Changes } from '../changes.ts';
import type { Config } from '../config/config.ts';
import { AppError, RpcError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Registry } from '../registry/registry.ts';
import type { RequestContext } from '../request-context.ts';
import type { Router } from '../routing/router.ts';
import type { Principal } from '../security/auth.ts';
import type { ThrottledRequestAuthenticator } from '../security/authentication-throttle.ts';
import type { Vault } from '../security/credentials.ts';
import { version } from '../version.ts';
import { createBridge } from './bridge.ts';
import { createEndpoint } from './endpoint.ts';
import { createGatewayTools, type GatewayToolDependencies } from './gateway-tools.ts';
import { createInternalTools, type InternalTools } from './internal-tools.ts';
import { createLegacyEndpoint } from './legacy.ts';
import type { SessionForwarder } from './legacy-transport.ts';
import { createMethods } from './methods.ts';
import { createModernEndpoint } from './modern.ts';
import { createReplies } from './reply.ts';
import { createResourceOwners } from './resource-owners.ts';
import { createTaskIds } from './task-ids.ts';

interface McpDependencies extends GatewayToolDependencies {
  config: Config;
  log: Logger;
  changes: Changes;
  vault: Vault;
  requestAuthenticator: ThrottledRequestAuthenticator;
  registry: Registry;
  catalog: Catalog;
  profiles: Profiles;
  router: Router;
  createSessionId?: () => string;
  forwarder?: SessionForwarder;
  admitCall?: (principal: Principal) => Promise<void>;
}

interface Mcp {
  handle(request: IncomingMessage, response: ServerResponse, context: RequestContext): boolean;
  /** Our own tools, for callers without an MCP client. */
  readonly internalTools: InternalTools;
  readonly sessions: { legacy: number; listening: number; parked: number };
  /** Takes nothing new and ends what waits for nothing; resolves when every call is answered. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

const leaseIdleMs = 60_000;

export function createMcp(deps: McpDependencies): Mcp {
  const { config, log, changes, registry, catalog, router, profiles } = deps;
  const ourInfo = { name: 'mcp-aggregator', title: 'MCP Aggregator', version };
  const onFailure = (error: unknown, method: string) => {
    if (!(error instanceof AppError || error instanceof RpcError))
      log.error({ err: error, method }, 'MCP request failed');
  };
  const owners = createResourceOwners((id) => registry.find(id));
  const bridge = createBridge({
    vault: deps.vault,
    router,
    leaseIdleMs: Math.min(config.sessionIdleMs, leaseIdleMs),
  });
  const taskIds = createTaskIds(deps.vault, (name) => registry.findByName(name));
  const gatewayTools = createGatewayTools(deps);
  const methods = createMethods({
    catalog,
    router,
    bridge,
    owners,
    taskIds,
    gatewayTools,
    listServers: () => registry.list(),
  });
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
  const modern = createModernEndpoint({ ...shared, config, taskIds });
  const legacy = createLegacyEndpoint({ ...shared, replies, config, createSessionId: deps.createSessionId });
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
    async drain() {
      modern.stopListening();
      await endpoint.drain();
    },
    get sessions() {
      return { legacy: legacy.sessions, listening: modern.listening, parked: bridge.parked };
    },
    async close() {
      bridge.close();
      await legacy.close();
      replies.close();
    },
  };
}
