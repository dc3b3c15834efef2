/** Builds the modules from the bottom up and closes them from the top down. The only file that sees all of them. */
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createCatalog } from './catalog/catalog.ts';
import { createProfiles } from './catalog/profiles.ts';
import { createChanges } from './changes.ts';
import { type Config, misspeltVariables, secretValues } from './config/config.ts';
import { createEventLoopWatchdog } from './event-loop-watchdog.ts';
import { createHealthMonitor } from './health/monitor.ts';
import { createReconnector } from './health/reconnect.ts';
import { createActivity } from './http/activity.ts';
import { createCatalogRevisions } from './http/catalog-revisions.ts';
import { createOutputLog } from './http/output-log.ts';
import { createPayloads } from './http/payloads.ts';
import { createReadiness } from './http/readiness.ts';
import { createRoutes } from './http/routes.ts';
import { createHttpServer } from './http/server.ts';
import { createViews } from './http/view.ts';
import { createLog, type Logger } from './log.ts';
import { gatewayToolDefinitions } from './mcp/gateway-tools.ts';
import { createMcp } from './mcp/mcp.ts';
import { queryToolDefinitions, queryTools } from './mcp/query-tools.ts';
import { createMetrics, measureChanges } from './metrics.ts';
import { createConfiguredModel } from './model.ts';
import { accountPrefix } from './oauth/identity-claims.ts';
import { createOauth } from './oauth/oauth.ts';
import { signInRequired } from './oauth/request-authenticator.ts';
import { sealedTokens } from './oauth/sealed-tokens.ts';
import { createQueryRunner } from './query/query-runner.ts';
import { createRuleStore } from './query/rule-store.ts';
import { serverRulesSchema } from './query/server-rules.ts';
import { createConfigFile } from './registry/config-file.ts';
import { createRegistry } from './registry/registry.ts';
import { sealedConnections } from './registry/sealed-connections.ts';
import { createForwarder } from './replicas/forward.ts';
import { createRateLimiter } from './replicas/rate-limit.ts';
import { advertisedAddress, createReplicas } from './replicas/replicas.ts';
import { createRequestBodies } from './request-bodies.ts';
import { logCalls } from './routing/call-log.ts';
import { createRouter } from './routing/router.ts';
import { createSearchAttribution } from './routing/search-attribution.ts';
import { openStartRecord } from './safe-mode.ts';
import { createToolSearch } from './search/tool-search.ts';
import { createAccounts } from './security/accounts.ts';
import { createAudit } from './security/audit.ts';
import { createAuthenticator, type Principal } from './security/auth.ts';
import { createAuthenticationThrottle, throttleRequestAuthenticator } from './security/authentication-throttle.ts';
import { createFailedAuthenticationAudit } from './security/failed-authentication-audit.ts';
import { loadInstallationSecrets, requireFittingKey } from './security/installation-secrets.ts';
import { createOwnTokens } from './security/own-tokens.ts';
import { createPageSessions } from './security/page-session.ts';
import { childEnvironment, userOf } from './security/policy.ts';
import { createResealer } from './security/reseal.ts';
import { createSecretSources } from './security/secret-sources.ts';
import { createSecrets, type Secrets } from './security/secrets.ts';
import { createUserKeys } from './security/user-keys.ts';
import { createSkillStore } from './skills/skill-store.ts';
import { createToolClassifier } from './skills/tool-classifier.ts';
import { createStatistics } from './statistics/statistics.ts';
import { claimDataDirectory } from './store/data-directory.ts';
import { storedKeyHistory } from './store/key-history.ts';
import { openStore } from './store/open-store.ts';
import { fromFileError, logUnstored } from './store/storage-fault.ts';
import { createConfiguredTracer } from './tracing.ts';
import { environmentOf, requireChildUser } from './upstream/child-user.ts';
import { createFleet } from './upstream/fleet.ts';
import { createOrphanReaper } from './upstream/orphan-reaper.ts';
import { createPool } from './upstream/pool.ts';
import { createStrays } from './upstream/strays.ts';
import { withToolFolders } from './upstream/tool-folders.ts';
import { version } from './version.ts';

export interface App {
  readonly url: string;
  readonly dataDir: string;
  readonly log: Logger;
  /** File of the admin token, unless it is set in the environment. */
  readonly adminTokenFile: string | undefined;
  close(): Promise<void>;
}

/** The log masks these secrets, so either both or neither are given. */
export async function createApp(config: Config, givenLog?: Logger, secrets = createSecrets()): Promise<App> {
  const log = givenLog ?? createLog(config.logLevel, { format: config.logFormat, mask: secrets.mask });
  const lifetime = createLifetime();
  try {
    return await build(config, log, secrets, lifetime);
  } catch (error) {
    await lifetime.end();
    throw fromFileError(error, config.dataDir);
  }
}

async function build(config: Config, log: Logger, secrets: Secrets, lifetime: Lifetime): Promise<App> {
  const foundation = await openFoundation(config, log, secrets, lifetime);
  const accounts = await openAccounts(foundation);
  const records = openRecords(foundation);
  const registered = await openRegistry({ ...foundation, ...accounts });
  const signIn = await openSignIn({ ...foundation, ...accounts, ...registered });
  const upstream = await openUpstream({ ...foundation, ...registered, ...signIn });
  const search = await openSearch({ ...foundation, ...registered, ...upstream });
  watchHealth({ ...foundation, ...registered, ...upstream });
  const modules = { ...foundation, ...accounts, ...records, ...registered, ...signIn, ...upstream, ...search };
  const calls = await openCalls(modules);
  const endpoints = await openEndpoints({ ...modules, ...calls });
  return await start({ ...modules, ...calls, ...endpoints });
}

/** What a step has opened, for the steps that build on it. */
type Opened<Step extends (...given: never[]) => unknown> = Awaited<ReturnType<Step>>;
type Foundation = Opened<typeof openFoundation>;
type OpenAccounts = Opened<typeof openAccounts>;
type OpenRecords = Opened<typeof openRecords>;
type OpenRegistry = Opened<typeof openRegistry>;
type OpenSignIn = Opened<typeof openSignIn>;
type OpenUpstream = Opened<typeof openUpstream>;
type OpenSearch = Opened<typeof openSearch>;
type OpenCalls = Opened<typeof openCalls>;
type OpenEndpoints = Opened<typeof openEndpoints>;
type Modules = Foundation & OpenAccounts & OpenRecords & OpenRegistry & OpenSignIn & OpenUpstream & OpenSearch;

/** The data directory, the database, the secrets of the installation, the other replicas. */
async function openFoundation(given: Config, log: Logger, secrets: Secrets, lifetime: Lifetime) {
  const { owned, onClose } = lifetime;
  const startedAt = Date.now();
  const directory = claimDataDirectory(given.dataDir);
  onClose(() => directory.release());
  const starts = openStartRecord(given.dataDir, {
    mode: given.safeMode,
    onError: (error) => log.warn({ err: error }, 'could not record the start in the audit'),
  });
  const { safeMode } = starts;
  if (safeMode !== undefined) log.error(safeMode);
  const config = safeMode === undefined ? given : { ...given, enabled: false };

  secrets.learn('config', secretValues(config));
  for (const { variable, setting } of misspeltVariables(config.environment))
    log.warn(`${variable} is not a setting. Did you mean ${setting}?`);
  requireChildUser(config.childUser);
  const engine = config.databaseUrl === undefined ? 'sqlite' : 'postgres';
  const metrics = owned(createMetrics({ toolLabels: config.metricsToolLabels, engine }));
  const watchdog = owned(createEventLoopWatchdog({ log, onBlocked: metrics.onLoopBlocked }));
  const { endedUncleanly } = directory;
  const checkSealed = (sealed: readonly string[]) => requireFittingKey(config, sealed);
  const db = owned(await openStore({ config, log, endedUncleanly, checkSealed, onQuery: metrics.onDatabaseQuery }));
  const installation = loadInstallationSecrets(config, secrets);
  const onError = (error: unknown) => logUnstored(log, error);

  const changes = createChanges();
  const shared = { config, db, log, changes, vault: installation.vault, secrets };
  const { databaseUrl, redisUrl } = config;
  const replicas = owned(await createReplicas({ ...shared, databaseUrl, redisUrl }));
  onClose(measureChanges(metrics, changes));
  onClose(logCalls(log, changes));
  return { lifetime, shared, startedAt, starts, safeMode, metrics, watchdog, installation, onError, replicas };
}

async function openAccounts({ lifetime: { owned }, shared, installation, onError }: Foundation) {
  const { config, db, secrets } = shared;
  const { adminToken, auditKeys } = installation;
  const accounts = await createAccounts(shared);
  const { anonymous, auditRetentionDays: retentionDays } = config;
  const authenticator = owned(await createAuthenticator({ ...shared, accounts, adminToken, anonymous, onError }));
  const audit = owned(createAudit(db, { keys: auditKeys, retentionDays, stringify: secrets.stringify, onError }));
  return { accounts, authenticator, audit };
}

/** What is kept of calls and changes to be shown. */
function openRecords({ lifetime: { owned }, shared, replicas, onError }: Foundation) {
  const { config, db, log, changes, secrets } = shared;
  const activity = owned(createActivity(changes));
  const statistics = owned(createStatistics({ db, changes, replicaId: replicas.id, onError }));
  const outputLog = owned(createOutputLog(changes));
  const catalogRevisions = owned(createCatalogRevisions(changes));
  const payloads = config.showPayloads ? createPayloads(secrets) : undefined;
  if (payloads !== undefined) log.info('arguments and results of calls are kept in memory and shown to admins');
  return { activity, statistics, outputLog, catalogRevisions, payloads };
}

async function openRegistry({ lifetime, shared, accounts, authenticator }: Foundation & OpenAccounts) {
  const { owned, onClose } = lifetime;
  const isAdmin = (user: string) => (accounts.findActive(user) ?? authenticator.findPrincipal(user))?.role === 'admin';
  const isEnded = (user: string) =>
    user.startsWith(accountPrefix)
      ? accounts.find(user) === undefined
      : authenticator.findPrincipal(user) === undefined;
  const userKeys = owned(await createUserKeys({ ...shared, isAdmin, isEnded }));
  const secretSources = createSecretSources(shared.config.environment);
  const registry = await createRegistry({ ...shared, secretSources, userKeys });
  onClose(() => registry.settled());
  return { isAdmin, userKeys, registry };
}

async function openSignIn(given: Foundation & OpenAccounts & OpenRegistry) {
  const { lifetime, shared, accounts, authenticator, audit, registry } = given;
  const { owned } = lifetime;
  const { config, changes } = shared;
  /** Known only after listening. */
  const address = { listening: '' };
  const baseUrl = () => config.publicUrl ?? address.listening;
  const oauth = owned(await createOauth({ ...shared, registry, authenticator, accounts, baseUrl }));
  const ownTokens = createOwnTokens({
    config,
    authenticator,
    isAccount: (id) => id.startsWith(accountPrefix),
    requireCheckable(id) {
      if (accounts.findActive(id) === undefined) throw signInRequired(baseUrl());
    },
  });
  owned(createFailedAuthenticationAudit(audit, changes));
  const throttle = createAuthenticationThrottle({ changes });
  const requestAuthenticator = throttleRequestAuthenticator(oauth.requestAuthenticator, throttle);
  return { address, oauth, ownTokens, throttle, requestAuthenticator };
}

async function openUpstream(given: Foundation & OpenRegistry & OpenSignIn) {
  const { lifetime, shared, replicas, safeMode, registry, isAdmin, oauth } = given;
  const { owned } = lifetime;
  const { config, log, changes } = shared;
  const strays = createStrays(config.dataDir);
  void strays.endEarlierRuns().then((count) => {
    if (count > 0) log.warn({ count }, 'ended processes that STDIO servers left behind at the last crash');
  });
  const machine = { platform: process.platform, execPath: process.execPath, exists: existsSync };
  const environmentOfChildren = withToolFolders(environmentOf(config.childUser, config.environment), machine);
  const pool = owned(
    createPool({
      ...shared,
      registry,
      orphanReaper: createOrphanReaper(strays),
      credentials: oauth.logins.credentials,
      isLoggedIn: oauth.logins.isKnown,
      isAdmin,
      childEnvironment: (own) => childEnvironment(environmentOfChildren, own),
    }),
  );
  const fleet = createFleet({ registry, pool, changes, enabled: config.enabled, safeMode });
  const catalog = owned(await createCatalog({ ...shared, registry, pool, isOurs: replicas.leads }));
  return { pool, fleet, catalog };
}

async function openSearch(given: Foundation & OpenRegistry & OpenUpstream) {
  const { lifetime, shared, metrics, replicas, registry, catalog } = given;
  const { owned } = lifetime;
  const { config, log } = shared;
  const tracer = owned(createConfiguredTracer(config, { log, onDropped: metrics.onSpansDropped }));
  const skillStore = await createSkillStore(shared);
  const model = createConfiguredModel(config);
  const toolSearch = owned(
    createToolSearch({
      ...shared,
      catalog,
      skillStore,
      internalTools: [...gatewayToolDefinitions(), ...queryToolDefinitions(model !== undefined)],
      tracer,
    }),
  );
  const toolClassifier = owned(
    createToolClassifier({
      ...shared,
      catalog,
      skillStore,
      findServer: registry.find,
      embed: toolSearch.lexicon.embedText,
      model,
      isOurs: replicas.leads,
    }),
  );
  return { tracer, skillStore, model, toolSearch, toolClassifier };
}

function watchHealth({ lifetime, shared, replicas, registry, pool }: Foundation & OpenRegistry & OpenUpstream): void {
  const { owned } = lifetime;
  const { config, changes } = shared;
  owned(createReconnector({ registry, pool, changes }));
  owned(
    createHealthMonitor({
      ...shared,
      registry,
      pool,
      intervalMs: config.healthIntervalMs,
      // Each replica runs its own STDIO child; servers over HTTP are shared, so one replica checks them.
      isOurs: ({ id, transport_type }) => transport_type === 'STDIO' || replicas.leadsOrAlone(id),
    }),
  );
}

async function openCalls(modules: Modules) {
  const { lifetime, shared, watchdog, registry, oauth, pool, catalog, audit, payloads } = modules;
  const { tracer, toolSearch, model } = modules;
  const { owned } = lifetime;
  const { secrets } = shared;
  const searchAttribution = createSearchAttribution(secrets.mask);
  const pages = { login: oauth.loginLink, keys: oauth.keyLink };
  const router = createRouter({ ...shared, pool, catalog, audit, tracer, searchAttribution, payloads, pages });
  const ruleStore = await createRuleStore(shared);
  const queryRunner = owned(
    createQueryRunner({
      ...shared,
      catalog,
      router,
      toolSearch,
      model,
      listServers: () => registry.list(),
      findServer: (id) => registry.find(id),
      connectionOf: (id) => registry.openConnection(id),
      listRules: ruleStore.list,
      tracer,
      beginWork: watchdog.begin,
    }),
  );
  return { searchAttribution, router, ruleStore, queryRunner };
}

async function openEndpoints(modules: Modules & OpenCalls) {
  const { lifetime, shared, installation, accounts, userKeys, registry, oauth, requestAuthenticator } = modules;
  const { replicas, fleet, catalog, router, toolSearch, searchAttribution, queryRunner, metrics, tracer } = modules;
  const { owned } = lifetime;
  const { config, db, log, vault } = shared;
  const { rateLimit: perMinute } = config;
  const limiter = perMinute === undefined ? undefined : createRateLimiter({ perMinute, redis: replicas.redis });
  const admitCall = limiter && ((principal: Principal) => limiter.admit(userOf(principal)));
  const profiles = await createProfiles(shared);
  const forwarder = createForwarder(replicas);
  const requestBodies = createRequestBodies(config);
  const mcp = owned(
    createMcp({
      ...shared,
      requestBodies,
      requestAuthenticator,
      registry,
      catalog,
      profiles,
      router,
      toolSearch,
      replicas,
      forwarder,
      admitCall,
      searchAttribution,
      more: queryTools(queryRunner),
    }),
  );

  const pageSessions = await createPageSessions({ ...shared, requestAuthenticator: oauth.requestAuthenticator });
  const stores = [sealedConnections(db, registry), ...sealedTokens(db, accounts), userKeys.sealed];
  const history = storedKeyHistory(db);
  const resealer = owned(createResealer({ vault, log, stores, history, onComplete: installation.retireKeyFiles }));
  const viewOf = createViews((name) => profiles.find(name));
  const readiness = createReadiness({ isSettled: fleet.isSettled });
  const routes = createRoutes({
    ...shared,
    ...modules,
    identityKey: installation.identityKey,
    internalTools: mcp.internalTools,
    mcp,
    pageSessions,
    profiles,
    readiness,
    replicaId: replicas.id,
    resealer,
    viewOf,
  });
  const http = createHttpServer({
    ...shared,
    identityKey: installation.identityKey,
    requestAuthenticator,
    requestBodies,
    viewOf,
    version,
    raw: mcp.handle,
    drainRaw: mcp.drain,
    handOff: forwarder.handOff,
    hasOthers: () => replicas.others().length > 0,
    admitCall,
    sessions: pageSessions,
    metrics,
    tracer,
    routes,
  });
  return { http, readiness };
}

/** Listens, and connects the servers. */
async function start(modules: Modules & OpenCalls & OpenEndpoints): Promise<App> {
  const { lifetime, shared, installation, starts, watchdog, replicas, registry, fleet, audit, throttle } = modules;
  const { address, ruleStore, http, readiness } = modules;
  const { owned, onClose } = lifetime;
  const { config, log } = shared;
  starts.begin();
  onClose(() => starts.end());
  // Before anything is asked: clients that come back at once find the servers that they used.
  fleet.start();
  const { host, port } = await http.listen();
  // The time of the start must not be reported as a blocked event loop.
  setImmediate(watchdog.start);
  address.listening = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  owned(http);
  // Closed first, because the HTTP server waits for requests that the throttle delays.
  owned(throttle);
  await replicas.start(config.advertiseUrl ?? advertisedAddress(host, port), registry);
  onClose(() => replicas.resign());
  http.open();
  if (config.config !== undefined) {
    const setServerRules = (rules: unknown) => ruleStore.replace(serverRulesSchema.parse(rules));
    owned(await createConfigFile({ path: config.config, registry, fleet, audit, log, setServerRules }));
  }
  readiness.handleStarted();

  let closing: Promise<void> | undefined;
  return {
    url: address.listening,
    dataDir: config.dataDir,
    log,
    adminTokenFile: installation.adminTokenFile,
    close() {
      readiness.handleStopping();
      closing ??= delay(config.shutdownDelayMs).then(lifetime.end);
      return closing;
    },
  };
}

interface Lifetime {
  /** Closes the module with the app, before everything that was opened earlier. */
  owned<Module extends { close(): unknown }>(module: Module): Module;
  onClose(close: () => unknown): void;
  /** Closes everything in reverse order and throws the first error at the end. */
  end(): Promise<void>;
}

function createLifetime(): Lifetime {
  const closers: (() => unknown)[] = [];

  return {
    owned(module) {
      closers.push(() => module.close());
      return module;
    },
    onClose: (close) => void closers.push(close),
    async end() {
      let failure: { error: unknown } | undefined;
      for (const close of closers.splice(0).reverse()) {
        try {
          await close();
        } catch (error) {
          failure ??= { error };
        }
      }
      if (failure !== undefined) throw failure.error;
    },
  };
}
