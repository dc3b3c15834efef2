/** Builds the rooms from the bottom up and closes them from the top down. The only file that sees all of them. */
import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createCatalog } from './catalog/catalog.ts';
import { createProfiles } from './catalog/profiles.ts';
import { type Config, secretValues } from './config/config.ts';
import { describe } from './errors.ts';
import { createEventLoopWatchdog } from './event-loop-watchdog.ts';
import { createEvents } from './events.ts';
import { createHealthMonitor } from './health/monitor.ts';
import { createReconnector } from './health/reconnect.ts';
import { judge } from './health/verdict.ts';
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
import { createMetrics } from './metrics.ts';
import { createConfiguredModel } from './model.ts';
import { createOauth } from './oauth/oauth.ts';
import { sealedTokens } from './oauth/sealed-tokens.ts';
import { createQueryRunner } from './query/query-runner.ts';
import { createRuleStore, rulesKey } from './query/rule-store.ts';
import { serverRulesSchema } from './query/server-rules.ts';
import { createConfigFile } from './registry/config-file.ts';
import { createRegistry, type Server } from './registry/registry.ts';
import { sealedConnections } from './registry/sealed-connections.ts';
import { createForwarder, toSessionId } from './replicas/forward.ts';
import { createRateLimiter } from './replicas/rate-limit.ts';
import { createReplicas } from './replicas/replicas.ts';
import { advertisedAddress, followEverything, type Rooms, takePart } from './replicas/take-part.ts';
import { type CallReport, createRouter } from './routing/call.ts';
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
import { findSetting, upsertSetting } from './store/settings.ts';
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
  const replicas = await createReplicas({ db, databaseUrl: config.databaseUrl, redisUrl: config.redisUrl, log });
  closers.push(() => replicas.close());
  const events = createEvents();
  const authenticator = await createAuthenticator({
    db,
    adminToken,
    anonymous: config.anonymous,
    onStored: () => replicas.publish({ kind: 'tokens' }),
    onEnded: (id) => events.emit('principal.ended', { principal_id: id }),
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

  const activity = createActivity(events);
  closers.push(() => activity.close());
  const payloads = config.showPayloads ? createPayloads(secrets) : undefined;
  if (payloads !== undefined) log.info('arguments and results of calls are kept in memory and shown to admins');
  const registry = await createRegistry({
    db,
    vault,
    events,
    log,
    config,
    secrets,
    onStored: (id) => replicas.publish({ kind: 'server', id }),
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
    events,
    log,
    authenticator,
    baseUrl,
    onLogin(server) {
      pool.open(server).loggedIn();
      replicas.publish({ kind: 'server', id: server.id });
    },
  });
  closers.push(() => oauth.close());

  const failedAuthentications = createFailedAuthenticationAudit(audit);
  closers.push(() => failedAuthentications.close());
  const throttle = createAuthenticationThrottle({
    onFailure(outcome, address, network) {
      metrics.onFailedAuthentication(outcome);
      if (outcome !== 'expired') failedAuthentications.add(address, network);
    },
  });
  const requestAuthenticator = throttleRequestAuthenticator(oauth.requestAuthenticator, throttle);

  const pool = createPool({
    config,
    registry,
    events,
    log,
    orphanReaper: createOrphanReaper(),
    credentials: oauth.logins.credentials,
    isLoggedIn: oauth.logins.isKnown,
    childEnvironment: (own) => childEnvironment(environmentOf(config.childUser, config.environment), own),
    onNotification: (server, method, params, principal) => hear(server, method, params, principal),
  });
  closers.push(() => pool.close());
  const fleet = createFleet({ registry, pool, enabled: config.enabled, safeMode });

  const catalog = await createCatalog({
    db,
    registry,
    pool,
    events,
    log,
    config,
    onToolsChanged: (server, changes) => toolSearch.follow(server, changes),
    onToolsReloaded: (server, changes) => toolSearch.followElsewhere(server, changes),
    isOurs: replicas.leads,
    askForDiscovery: (id, kinds) => replicas.publish({ kind: 'discover', id, kinds: kinds && [...kinds] }),
    onStored: (id) => replicas.publish({ kind: 'tools', id }),
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
  const skillStore = await createSkillStore(db, () => replicas.publish({ kind: 'skills' }));
  const model = createConfiguredModel(config);
  const toolSearch = createToolSearch({
    db,
    catalog,
    skillStore,
    events,
    log,
    config,
    internalTools: [...gatewayToolDefinitions(), ...queryToolDefinitions(model !== undefined)],
    model,
    tracer,
    onSearch: (ms) => metrics.onSearch(ms),
    isOurs: replicas.leads,
    onClassified(ids) {
      for (const id of ids) replicas.publish({ kind: 'tools', id });
    },
  });
  closers.push(() => toolSearch.close());
  metrics.watchBacklog({
    embedding: () => toolSearch.backlog.embedding,
    classification: () => toolSearch.backlog.classification,
  });
  const reconnector = createReconnector({ registry, pool, events });
  closers.push(() => reconnector.close());
  const monitor = createHealthMonitor({
    registry,
    pool,
    log,
    intervalMs: config.healthIntervalMs,
    // A child is everybody's own; any other server is one for all, and need not be asked by each of us.
    isOurs: ({ id, transport_type }) => transport_type === 'STDIO' || replicas.leadsOrAlone(id),
    onChecked(server, outcome) {
      const ms = 'ms' in outcome ? outcome.ms : undefined;
      const failed = judge(outcome).health === 'failed';
      metrics.onHealthCheck(server, { ms, failed });
      const checked = registry.findByName(server);
      if (checked === undefined) return;
      activity.onCheck(checked.id, { failed });
      if (checked.transport_type !== 'STDIO') replicas.publish({ kind: 'health', id: checked.id, outcome });
    },
  });
  closers.push(() => monitor.close());

  const searchAttribution = createSearchAttribution(secrets.mask);
  const router = createRouter({
    loginLink: oauth.loginLink,
    config,
    pool,
    catalog,
    audit,
    events,
    tracer,
    searchAttribution,
    payloads,
    onCall(report) {
      metrics.onCall(report);
      recordCall(log, report);
    },
  });

  const ruleStore = await createRuleStore({
    load: () => findSetting(db, rulesKey),
    async save(rules) {
      await upsertSetting(db, rulesKey, rules);
      replicas.publish({ kind: 'rules' });
    },
  });
  const queryRunner = createQueryRunner({
    config,
    catalog,
    router,
    toolSearch,
    events,
    log,
    model,
    listServers: () => registry.list(),
    findServer: (id) => registry.find(id),
    connectionOf: (id) => registry.openConnection(id),
    listRules: ruleStore.list,
    tracer,
    onQuery: (ms) => metrics.onQuery(ms),
    beginWork: watchdog.begin,
  });
  closers.push(() => queryRunner.close());
  const limiter =
    config.rateLimit === undefined
      ? undefined
      : createRateLimiter({ perMinute: config.rateLimit, redis: replicas.redis });
  const admitCall = limiter && ((principal: Principal) => limiter.admit(principal.id));
  const profiles = await createProfiles(
    db,
    () => replicas.publish({ kind: 'profiles' }),
    (name) => log.warn({ profile: name }, 'this stored profile is not valid and offers nothing; save or remove it'),
  );
  const mcp = createMcp({
    config,
    log,
    events,
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
    onEnded: () => replicas.publish({ kind: 'sessions' }),
  });
  const rooms: Rooms = {
    replicas,
    registry,
    fleet,
    catalog,
    toolSearch,
    monitor,
    authenticator,
    sessions,
    profiles,
    skillStore,
    events,
    ruleStore,
  };
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
        events,
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
        async reload() {
          await followEverything(rooms);
          replicas.publish({ kind: 'everything' });
        },
      }),
      ...metricsRoutes({ config, metrics, registry, catalog, pool, events, audit }),
    ],
  });
  const { host, port } = await http.listen();
  // What is left of the start is no news.
  setImmediate(watchdog.start);
  listening = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  closers.push(() => http.close());
  // Before that, so that nobody is waited for who waits.
  closers.push(() => throttle.close());
  closers.push(await takePart(rooms, config.advertiseUrl ?? advertisedAddress(host, port)));
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
    if (kinds !== undefined) events.emit('server.lists_changed', { server_id: id, kinds });
    if (method === 'notifications/resources/updated' && typeof params.uri === 'string') {
      events.emit('resource.updated', { server_id: id, name, uri: params.uri, principal_id });
    }
    if (method.startsWith('notifications/tasks')) events.emit('task.changed', { server_id: id, method, params });
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

/** Every call is in the audit and in the metrics; the log tells of those that went wrong. */
function recordCall(log: Logger, { server, tool, principal, requestId, outcome, routingMs, executionMs }: CallReport) {
  const failed = outcome !== 'ok' && outcome !== 'tool_error' && outcome !== 'cancelled';
  const level = failed ? 'warn' : 'debug';
  if (!log.isLevelEnabled(level)) return;
  const duration_ms = Math.round((routingMs + (executionMs ?? 0)) * 1_000) / 1_000;
  log[level]({ request_id: requestId, principal, server, tool, outcome, duration_ms }, 'tool call');
}

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
