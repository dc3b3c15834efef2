/** Builds the rooms from the bottom up and closes them from the top down. The only file that sees all of them. */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createCatalog } from './catalog/catalog.ts';
import { createProfiles } from './catalog/profiles.ts';
import { type Config, secretValues } from './config.ts';
import { createEvents } from './events.ts';
import { createHealthMonitor } from './health/monitor.ts';
import { createReconnector } from './health/reconnect.ts';
import { judge } from './health/verdict.ts';
import { accessRoutes } from './http/routes/access.ts';
import { importRoutes } from './http/routes/import.ts';
import { metricsRoutes } from './http/routes/metrics.ts';
import { oauthRoutes } from './http/routes/oauth.ts';
import { profileRoutes } from './http/routes/profiles.ts';
import { searchRoutes } from './http/routes/search.ts';
import { serverRoutes } from './http/routes/servers.ts';
import { stateRoutes } from './http/routes/state.ts';
import { toolRoutes } from './http/routes/tools.ts';
import { createHttpServer } from './http/server.ts';
import { createLog, type Logger } from './log.ts';
import { createMcp } from './mcp/mcp.ts';
import { createMetrics } from './metrics.ts';
import { createOauth } from './oauth/oauth.ts';
import { createConfigFile } from './registry/config-file.ts';
import { createRegistry, type Server } from './registry/registry.ts';
import { type CallReport, createRouter } from './routing/call.ts';
import { createFinder } from './search/finder.ts';
import { createAudit } from './security/audit.ts';
import { createAuthenticator } from './security/auth.ts';
import { createVault, parseKey } from './security/credentials.ts';
import { childEnvironment } from './security/policy.ts';
import { loadOrCreateSecretFile } from './security/secret-file.ts';
import { createSecrets, type Secrets } from './security/secrets.ts';
import { createSkillBook } from './skills/skill-book.ts';
import { claimDataDirectory } from './store/data-directory.ts';
import { openDatabase } from './store/database.ts';
import { createTracer, noTracer } from './tracing.ts';
import { createFleet } from './upstream/fleet.ts';
import { createPool } from './upstream/pool.ts';
import { createWarden } from './upstream/warden.ts';
import { version } from './version.ts';

export interface App {
  readonly url: string;
  readonly dataDir: string;
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
    throw error;
  }
}

async function build(config: Config, log: Logger, secrets: Secrets, closers: (() => unknown)[]): Promise<App> {
  const startedAt = Date.now();
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  const directory = claimDataDirectory(config.dataDir);
  closers.push(() => directory.release());

  secrets.learn('config', secretValues(config));
  const engine = config.databaseUrl === undefined ? 'sqlite' : 'postgres';
  const metrics = createMetrics({ toolLabels: config.metricsToolLabels, engine });
  closers.push(() => metrics.close());
  const db = await openDatabase({
    url: config.databaseUrl,
    file: join(config.dataDir, 'aggregator.db'),
    onQuery: metrics.onDatabaseQuery,
  });
  closers.push(() => db.close());

  const { vault, auditKeys, adminToken, adminTokenFile } = loadSecrets(config);
  secrets.learn('admin', [adminToken, ...spellings(auditKeys.current)]);
  const onError = (error: unknown) => log.error({ err: error }, 'a record could not be stored yet');
  const authenticator = await createAuthenticator({ db, adminToken, anonymous: config.anonymous, onError });
  closers.push(() => authenticator.close());
  const audit = createAudit(db, {
    keys: auditKeys,
    retentionDays: config.auditRetentionDays,
    mask: secrets.maskJson,
    onError,
  });
  closers.push(() => audit.close());

  const events = createEvents();
  const registry = await createRegistry({ db, vault, events, log, config, secrets });
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
    onLogin: (server) => pool.open(server).loggedIn(),
  });
  closers.push(() => oauth.close());

  const pool = createPool({
    config,
    registry,
    events,
    log,
    warden: createWarden(),
    credentials: oauth.logins.credentials,
    isLoggedIn: oauth.logins.isKnown,
    childEnvironment: (own) => childEnvironment(config.environment, own),
    onNotification: (server, method, params) => hear(server, method, params),
  });
  closers.push(() => pool.close());
  const fleet = createFleet({ registry, pool, enabled: config.enabled });

  const catalog = await createCatalog({
    db,
    registry,
    pool,
    events,
    log,
    config,
    onToolsChanged: (server, changes) => finder.follow(server, changes),
  });
  closers.push(() => catalog.close());
  const skillBook = await createSkillBook(db);
  const finder = createFinder({ db, catalog, skillBook, events, log, config });
  closers.push(() => finder.close());
  const reconnector = createReconnector({ registry, pool, events });
  closers.push(() => reconnector.close());
  const monitor = createHealthMonitor({
    registry,
    pool,
    log,
    intervalMs: config.healthIntervalMs,
    onChecked(server, outcome) {
      const ms = 'ms' in outcome ? outcome.ms : undefined;
      metrics.onHealthCheck(server, { ms, failed: judge(outcome).health === 'failed' });
    },
  });
  closers.push(() => monitor.close());

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
  const router = createRouter({
    loginLink: oauth.loginLink,
    config,
    pool,
    catalog,
    audit,
    events,
    tracer,
    onCall(report) {
      metrics.onCall(report);
      noteCall(log, report);
    },
  });

  const profiles = await createProfiles(db);
  const mcp = createMcp({
    config,
    log,
    events,
    vault,
    gatekeeper: oauth.gatekeeper,
    registry,
    catalog,
    profiles,
    router,
    async findTools(query, { limit, scope, signal }) {
      const offered = new Map(scope.listTools().map(({ tool }) => [tool.row.name, tool]));
      const isVisible = ({ name }: { name: string }) => offered.has(name);
      const { tools } = await finder.search({ query, limit, toolThreshold: nothingFitsBelow, isVisible }, signal);
      return tools.flatMap(({ tool: { name }, score }) => {
        const tool = offered.get(name);
        return tool === undefined ? [] : [{ tool, score }];
      });
    },
  });
  closers.push(() => mcp.close());

  const http = createHttpServer({
    config,
    log,
    gatekeeper: oauth.gatekeeper,
    version,
    raw: mcp.handle,
    secrets,
    metrics,
    tracer,
    routes: [
      ...oauthRoutes({ ...oauth, registry, authenticator, audit, onLogout: reconnect }),
      ...serverRoutes({ db, registry, fleet, pool, catalog, audit }),
      ...importRoutes({ registry, fleet, audit }),
      ...toolRoutes({ registry, catalog, router }),
      ...searchRoutes({ catalog, finder, skillBook, audit }),
      ...stateRoutes({ config, db, registry, catalog, events, startedAt }),
      ...accessRoutes({ authenticator, audit }),
      ...profileRoutes({ profiles, audit }),
      ...metricsRoutes({ config, metrics, registry, catalog, pool, events, audit }),
    ],
  });
  const { host, port } = await http.listen();
  listening = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  closers.push(() => http.close());
  if (config.config !== undefined) {
    const configFile = await createConfigFile({ path: config.config, registry, fleet, log });
    closers.push(() => configFile.close());
  }
  fleet.start();

  async function reconnect(server: Server): Promise<void> {
    const link = await pool.replace(server);
    if (server.desired === 'connected') link.connect();
  }

  function hear(server: { id: string; name: string }, method: string, params: Record<string, unknown>): void {
    const kinds = listsBehind[method];
    if (kinds !== undefined) events.emit('server.lists_changed', { server_id: server.id, kinds });
    if (method === 'notifications/resources/updated' && typeof params.uri === 'string') {
      events.emit('resource.updated', { server_id: server.id, name: server.name, uri: params.uri });
    }
  }

  let closing: Promise<void> | undefined;
  return {
    url: listening,
    dataDir: config.dataDir,
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
function noteCall(log: Logger, { server, tool, principal, requestId, outcome, routingMs, executionMs }: CallReport) {
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
