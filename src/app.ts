/** Builds the rooms from the bottom up and closes them from the top down. The only file that sees all of them. */
import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createCatalog } from './catalog/catalog.ts';
import { createProfiles } from './catalog/profiles.ts';
import { createChanges } from './changes.ts';
import { type Config, secretValues } from './config.ts';
import { describe } from './errors.ts';
import { createEventLoopWatchdog } from './event-loop-watchdog.ts';
import { createHealthMonitor } from './health/monitor.ts';
import { createReconnector } from './health/reconnect.ts';
import { createActivity } from './http/activity.ts';
import { createPayloads } from './http/payloads.ts';
import { accessRoutes } from './http/routes/access.ts';
import { activityRoutes } from './http/routes/activity.ts';
import { backupRoutes } from './http/routes/backup.ts';
import { importRoutes } from './http/routes/import.ts';
import { metricsRoutes } from './http/routes/metrics.ts';
import { oauthRoutes } from './http/routes/oauth.ts';
import { profileRoutes } from './http/routes/profiles.ts';
import { queryRoutes } from './http/routes/query.ts';
import { searchRoutes } from './http/routes/search.ts';
import { serverRoutes } from './http/routes/servers.ts';
import { sessionRoutes } from './http/routes/session.ts';
import { stateRoutes } from './http/routes/state.ts';
import { toolChangeRoutes } from './http/routes/tool-changes.ts';
import { toolRoutes } from './http/routes/tools.ts';
import { createHttpServer } from './http/server.ts';
import { createViews } from './http/view.ts';
import { createLog, type Logger } from './log.ts';
import { isLoopback } from './loopback.ts';
import { gatewayToolDefinitions } from './mcp/gateway-tools.ts';
import { createMcp } from './mcp/mcp.ts';
import { queryToolDefinitions, queryTools } from './mcp/query-tools.ts';
import { createMetrics, measureChanges } from './metrics.ts';
import { createConfiguredModel } from './model.ts';
import { createOauth } from './oauth/oauth.ts';
import { sealedTokens } from './oauth/sealed-tokens.ts';
import { createQueryRunner } from './query/query-runner.ts';
import { createRuleStore } from './query/rule-store.ts';
import { serverRulesSchema } from './query/server-rules.ts';
import { createConfigFile } from './registry/config-file.ts';
import { createRegistry, type Server } from './registry/registry.ts';
import { sealedConnections } from './registry/sealed-connections.ts';
import { createForwarder, toSessionId } from './replicas/forward.ts';
import { createRateLimiter } from './replicas/rate-limit.ts';
import { advertisedAddress, createReplicas } from './replicas/replicas.ts';
import { createRouter } from './routing/call.ts';
import { logCalls } from './routing/call-log.ts';
import { createSearchAttribution } from './routing/search-attribution.ts';
import { openStartRecord } from './safe-mode.ts';
import { createToolSearch } from './search/tool-search.ts';
import { createAudit } from './security/audit.ts';
import { createAuthenticator, type Principal } from './security/auth.ts';
import { createAuthenticationThrottle, throttleRequestAuthenticator } from './security/authentication-throttle.ts';
import { createVault, parseKey } from './security/credentials.ts';
import { createFailedAuthenticationAudit } from './security/failed-authentication-audit.ts';
import { createPageSessions } from './security/page-session.ts';
import { childEnvironment } from './security/policy.ts';
import { createResealer } from './security/reseal.ts';
import { loadOrCreateSecretFile } from './security/secret-file.ts';
import { createSecrets, type Secrets } from './security/secrets.ts';
import { createSkillStore } from './skills/skill-store.ts';
import { createDailyBackup } from './store/daily-backup.ts';
import { claimDataDirectory } from './store/data-directory.ts';
import { openDatabase } from './store/database.ts';
import { checkDatabaseFile, databaseFileIn } from './store/integrity.ts';
import { fromFileError, logFault, StorageFault } from './store/storage-fault.ts';
import { createTracer, noTracer } from './tracing.ts';
import { environmentOf, requireChildUser } from './upstream/child-user.ts';
import { createFleet } from './upstream/fleet.ts';
import { createOrphanReaper } from './upstream/orphan-reaper.ts';
import { createPool } from './upstream/pool.ts';
import { version } from './version.ts';

export interface App {
  readonly url: string;
  readonly dataDir: string;
  readonly log: Logger;
  /** Where the admin token is, unless it came from the environment. */
  readonly adminTokenFile: string | undefined;
  close(): Promise<void>;
}

/** The log and the secrets that it hides belong together: give both or none. */
export async function createApp(config: Config, givenLog?: Logger, secrets = createSecrets()): Promise<App> {
  const log = givenLog ?? createLog(config.logLevel, { format: config.logFormat, mask: secrets.mask });
  const closers: (() => unknown)[] = [];
  try {
    return await build(config, log, secrets, closers);
  } catch (error) {
    await closeAll(closers);
    throw fromFileError(error, config.dataDir);
  }
}

async function build(given: Config, log: Logger, secrets: Secrets, closers: (() => unknown)[]): Promise<App> {
  const startedAt = Date.now();
  const directory = claimDataDirectory(given.dataDir);
  closers.push(() => directory.release());
  const starts = openStartRecord(given.dataDir, {
    mode: given.safeMode,
    onError: (error) => log.warn({ err: error }, 'the start could not be recorded'),
  });
  const { safeMode } = starts;
  if (safeMode !== undefined) log.error(safeMode);
  const config = safeMode === undefined ? given : { ...given, enabled: false };

  secrets.learn('config', secretValues(config));
  requireChildUser(config.childUser);
  const engine = config.databaseUrl === undefined ? 'sqlite' : 'postgres';
  const metrics = createMetrics({ toolLabels: config.metricsToolLabels, engine });
  closers.push(() => metrics.close());
  if (engine === 'sqlite') checkDatabaseFile(config.dataDir, directory.endedUncleanly, log);
  const watchdog = createEventLoopWatchdog({ log, onBlocked: metrics.onLoopBlocked });
  closers.push(() => watchdog.close());
  const db = await openDatabase({
    url: config.databaseUrl,
    file: databaseFileIn(config.dataDir),
    onQuery: metrics.onDatabaseQuery,
    onFault: (fault) => logFault(log, fault),
  });
  closers.push(() => db.close());
  if (engine === 'sqlite' && config.backups > 0) {
    const backup = createDailyBackup({
      directory: config.dataDir,
      keep: config.backups,
      onBackup: (file, duration_ms) => log.info({ file, duration_ms }, 'the database was backed up'),
      onError: (error) => log.error({ reason: describe(error) }, 'the daily backup failed; it is tried again'),
    });
    closers.push(() => backup.close());
  }

  const { vault, auditKeys, adminToken, adminTokenFile } = loadSecrets(config);
  secrets.learn('admin', [adminToken, ...spellings(auditKeys.current)]);
  const onError = (error: unknown) => {
    // A storage fault is in the log already, once.
    if (!(error instanceof StorageFault)) log.error({ err: error }, 'a record could not be stored yet');
  };
  const changes = createChanges();
  const replicas = await createReplicas({
    db,
    changes,
    databaseUrl: config.databaseUrl,
    redisUrl: config.redisUrl,
    log,
  });
  closers.push(() => replicas.close());
  closers.push(measureChanges(metrics, changes));
  closers.push(logCalls(log, changes));
  const authenticator = await createAuthenticator({
    db,
    changes,
    adminToken,
    anonymous: config.anonymous,
    onError,
  });
  closers.push(() => authenticator.close());
  const audit = createAudit(db, {
    keys: auditKeys,
    retentionDays: config.auditRetentionDays,
    stringify: secrets.stringify,
    onError,
  });
  closers.push(() => audit.close());

  const activity = createActivity(changes);
  closers.push(() => activity.close());
  const payloads = config.showPayloads ? createPayloads(secrets) : undefined;
  if (payloads !== undefined) log.info('arguments and results of calls are kept in memory and shown to admins');
  const registry = await createRegistry({
    db,
    vault,
    changes,
    log,
    config,
    secrets,
  });
  closers.push(() => registry.settled());

  // Known once we listen; nobody asks for it before.
  let listening = '';
  const baseUrl = () => config.publicUrl ?? listening;
  const oauth = await createOauth({
    config,
    db,
    vault,
    secrets,
    registry,
    changes,
    log,
    authenticator,
    baseUrl,
    onLogin(server) {
      pool.open(server).loggedIn();
      changes.publish('server.stored', { server_id: server.id });
    },
  });
  closers.push(() => oauth.close());

  const failedAuthentications = createFailedAuthenticationAudit(audit, changes);
  closers.push(() => failedAuthentications.close());
  const throttle = createAuthenticationThrottle({ changes });
  const requestAuthenticator = throttleRequestAuthenticator(oauth.requestAuthenticator, throttle);

  const pool = createPool({
    config,
    registry,
    changes,
    log,
    orphanReaper: createOrphanReaper(),
    credentials: oauth.logins.credentials,
    isLoggedIn: oauth.logins.isKnown,
    childEnvironment: (own) => childEnvironment(environmentOf(config.childUser, config.environment), own),
    onNotification: (server, method, params, principal) => hear(server, method, params, principal),
  });
  closers.push(() => pool.close());
  const fleet = createFleet({ registry, pool, changes, enabled: config.enabled, safeMode });

  const catalog = await createCatalog({
    db,
    registry,
    pool,
    changes,
    log,
    config,
    isOurs: replicas.leads,
  });
  closers.push(() => catalog.close());
  const tracer =
    config.otlpEndpoint === undefined
      ? noTracer
      : createTracer({
          endpoint: config.otlpEndpoint,
          headers: config.otlpHeaders,
          serviceName: config.otelServiceName,
          log,
          onDropped: metrics.onSpansDropped,
        });
  closers.push(() => tracer.close());
  const skillStore = await createSkillStore({ db, changes });
  const model = createConfiguredModel(config);
  const toolSearch = createToolSearch({
    db,
    catalog,
    skillStore,
    changes,
    log,
    config,
    internalTools: [...gatewayToolDefinitions(), ...queryToolDefinitions(model !== undefined)],
    model,
    tracer,
    isOurs: replicas.leads,
  });
  closers.push(() => toolSearch.close());
  metrics.watchBacklog({
    embedding: () => toolSearch.backlog.embedding,
    classification: () => toolSearch.backlog.classification,
  });
  const reconnector = createReconnector({ registry, pool, changes });
  closers.push(() => reconnector.close());
  const monitor = createHealthMonitor({
    registry,
    pool,
    changes,
    log,
    intervalMs: config.healthIntervalMs,
    // A child is everybody's own; any other server is one for all, and need not be asked by each of us.
    isOurs: ({ id, transport_type }) => transport_type === 'STDIO' || replicas.leadsOrAlone(id),
  });
  closers.push(() => monitor.close());

  const searchAttribution = createSearchAttribution(secrets.mask);
  const router = createRouter({
    loginLink: oauth.loginLink,
    config,
    pool,
    catalog,
    audit,
    changes,
    tracer,
    searchAttribution,
    payloads,
  });

  const ruleStore = await createRuleStore({ db, changes });
  const queryRunner = createQueryRunner({
    config,
    catalog,
    router,
    toolSearch,
    changes,
    log,
    model,
    listServers: () => registry.list(),
    findServer: (id) => registry.find(id),
    connectionOf: (id) => registry.openConnection(id),
    listRules: ruleStore.list,
    tracer,
    beginWork: watchdog.begin,
  });
  closers.push(() => queryRunner.close());
  const limiter =
    config.rateLimit === undefined
      ? undefined
      : createRateLimiter({ perMinute: config.rateLimit, redis: replicas.redis });
  const admitCall = limiter && ((principal: Principal) => limiter.admit(principal.id));
  const profiles = await createProfiles({ db, changes, log });
  const mcp = createMcp({
    config,
    log,
    changes,
    vault,
    requestAuthenticator,
    registry,
    catalog,
    profiles,
    router,
    createSessionId: () => toSessionId(replicas.id, randomUUID()),
    forwarder: createForwarder(replicas),
    admitCall,
    searchAttribution,
    more: queryTools(queryRunner),
    async findTools(query, { limit, scope, signal, trace }) {
      const offered = new Map(scope.listTools().map(({ tool }) => [tool.row.name, tool]));
      const isVisible = ({ name }: { name: string }) => offered.has(name);
      const request = { query, limit, toolThreshold: nothingFitsBelow, isVisible };
      const { tools } = await toolSearch.search(request, signal, trace);
      return tools.flatMap(({ tool: { name }, score }) => {
        const tool = offered.get(name);
        return tool === undefined ? [] : [{ tool, score }];
      });
    },
  });
  closers.push(() => mcp.close());
  metrics.watchSessions(() => [
    ['session', 'legacy', mcp.sessions.legacy],
    ['listening', 'modern', mcp.sessions.listening],
    ['parked', 'modern', mcp.sessions.parked],
  ]);

  const sessions = await createPageSessions({
    db,
    vault,
    requestAuthenticator: oauth.requestAuthenticator,
    changes,
  });
  const resealer = createResealer({ vault, log, stores: [sealedConnections(db, registry), ...sealedTokens(db)] });
  closers.push(() => resealer.close());
  const viewOf = createViews((name) => profiles.find(name));
  const http = createHttpServer({
    config,
    log,
    requestAuthenticator,
    viewOf,
    version,
    raw: mcp.handle,
    drainRaw: mcp.drain,
    admitCall,
    sessions,
    secrets,
    metrics,
    tracer,
    routes: [
      ...oauthRoutes({
        ...oauth,
        viewOf,
        pageSessions: sessions,
        registry,
        authenticator,
        throttle,
        audit,
        onLogout: reconnect,
      }),
      ...serverRoutes({ db, registry, fleet, pool, catalog, audit, replicaId: replicas.id }),
      ...importRoutes({ registry, fleet, audit, environment: config.environment }),
      ...toolChangeRoutes({ db, registry, catalog, pool, audit }),
      ...toolRoutes({ registry, catalog, router, internalTools: mcp.internalTools }),
      ...queryRoutes({ queryRunner, registry, ruleStore, audit, secrets }),
      ...searchRoutes({ catalog, toolSearch, searchAttribution, skillStore, audit }),
      ...stateRoutes({
        config,
        db,
        registry,
        catalog,
        changes,
        startedAt,
        safeMode,
        pingVectors: toolSearch.pingVectors,
        backlog: () => toolSearch.backlog,
      }),
      ...accessRoutes({ authenticator, audit, registry }),
      ...sessionRoutes({
        sessions,
        pages: oauth.sessions,
        requestAuthenticator,
        throttle,
        identityProvider: oauth.identityProvider,
        loopbackListener: isLoopback(config.host),
      }),
      ...activityRoutes({ activity, payloads, registry, catalog, pool }),
      ...profileRoutes({ profiles, audit }),
      ...backupRoutes({
        db,
        maxServers: config.maxServers,
        vault,
        resealer,
        audit,
        changes,
      }),
      ...metricsRoutes({ config, metrics, registry, catalog, pool, audit }),
    ],
  });
  const { host, port } = await http.listen();
  // What is left of the start is no news.
  setImmediate(watchdog.start);
  listening = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  closers.push(() => http.close());
  // Before that, so that nobody is waited for who waits.
  closers.push(() => throttle.close());
  await replicas.start(config.advertiseUrl ?? advertisedAddress(host, port), registry);
  closers.push(() => replicas.resign());
  if (config.config !== undefined) {
    const configFile = await createConfigFile({
      path: config.config,
      registry,
      fleet,
      audit,
      log,
      setServerRules: (rules) => ruleStore.replace(serverRulesSchema.parse(rules)),
    });
    closers.push(() => configFile.close());
  }
  starts.begin();
  closers.push(() => starts.end());
  fleet.start();

  async function reconnect(server: Server): Promise<void> {
    const link = await pool.replace(server);
    if (server.desired === 'connected') link.connect();
  }

  function hear({ id, name }: Server, method: string, params: Record<string, unknown>, principal_id?: string): void {
    const kinds = listsBehind[method];
    if (kinds !== undefined) changes.publish('server.lists_changed', { server_id: id, kinds });
    if (method === 'notifications/resources/updated' && typeof params.uri === 'string') {
      changes.publish('resource.updated', { server_id: id, name, uri: params.uri, principal_id });
    }
    if (method.startsWith('notifications/tasks')) changes.publish('task.changed', { server_id: id, method, params });
  }

  let closing: Promise<void> | undefined;
  return {
    url: listening,
    dataDir: config.dataDir,
    log,
    adminTokenFile,
    close() {
      closing ??= closeAll(closers);
      return closing;
    },
  };
}

/** Below this chance, search_tools would rather say that nothing fits. */
const nothingFitsBelow = 0.3;

const listsBehind: Record<string, string[]> = {
  'notifications/tools/list_changed': ['tool'],
  'notifications/prompts/list_changed': ['prompt'],
  'notifications/resources/list_changed': ['resource', 'resource_template'],
};

function loadSecrets(config: Config) {
  const file = (name: string, create: () => string) => loadOrCreateSecretFile(join(config.dataDir, name), create).value;
  const current = config.credentialKey ?? parseKey(file('credential-key', () => randomBytes(32).toString('base64')));
  const vault = createVault({ current, previous: config.credentialKeyPrevious });
  const adminTokenFile = config.adminToken === undefined ? join(config.dataDir, 'admin-token') : undefined;
  const adminToken =
    config.adminToken ?? file('admin-token', () => `mcpa_admin_${randomBytes(32).toString('base64url')}`);
  return { vault, auditKeys: { current, previous: config.credentialKeyPrevious }, adminToken, adminTokenFile };
}

const spellings = (key: Buffer) => [key.toString('base64'), key.toString('base64url'), key.toString('hex')];

/** In reverse order of opening, all of them, keeping the first error. */
async function closeAll(closers: (() => unknown)[]): Promise<void> {
  let failure: { error: unknown } | undefined;
  for (const close of closers.splice(0).reverse()) {
    try {
      await close();
    } catch (error) {
      failure ??= { error };
    }
  }
  if (failure !== undefined) throw failure.error;
}
