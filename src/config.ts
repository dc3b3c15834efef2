/** Every setting, described once: environment variable, flag, help, check and default all come from this table. */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { decodeKey } from './credential-key.ts';
import { AppError, describe } from './errors.ts';
import { isLoopback } from './loopback.ts';

type Parse<T> = (text: string) => T;

interface Setting<T> {
  env: string;
  help: string;
  example: string;
  parse: Parse<T>;
  default: T;
  /** Shown in help instead of the default's value. */
  defaultText?: string;
  /** A wrong value is never repeated in the message. */
  secret?: true;
}

export interface ChildUser {
  uid: number;
  gid: number;
  name?: string;
  home: string;
}

const setting = <T>(definition: Setting<T>): Setting<T> => definition;

const minute = 60_000;

export const settings = {
  enabled: setting({
    env: 'MCP_AGGREGATOR_ENABLED',
    help: 'false: no server is connected; everything that is stored stays readable',
    example: 'true',
    parse: boolean,
    default: true,
  }),
  safeMode: setting({
    env: 'MCP_AGGREGATOR_SAFE_MODE',
    help: 'start without connecting servers: auto, after three crashes in a row within two minutes of a start; on; off',
    example: 'auto',
    parse: oneOf('auto', 'on', 'off'),
    default: 'auto' as 'auto' | 'on' | 'off',
  }),
  host: setting({
    env: 'MCP_AGGREGATOR_HOST',
    help: 'address to listen on',
    example: '127.0.0.1',
    parse: text,
    default: '127.0.0.1',
  }),
  port: setting({
    env: 'MCP_AGGREGATOR_PORT',
    help: 'port to listen on; 0 takes a free one',
    example: '8081',
    parse: integer(0, 65_535),
    default: 8081,
  }),
  advertiseUrl: setting({
    env: 'MCP_AGGREGATOR_ADVERTISE_URL',
    help: 'where the other replicas reach this one; they pass on requests of MCP sessions that it holds',
    example: 'http://10.0.0.7:8081',
    parse: url('http:', 'https:'),
    default: undefined as string | undefined,
    defaultText: 'the address and port listened on, or the first address of this host',
  }),
  rateLimit: setting({
    env: 'MCP_AGGREGATOR_RATE_LIMIT',
    help: 'calls that one token may make in a minute, counted over all replicas with REDIS_URL, else in each',
    example: '600',
    parse: integer(1, 100_000_000),
    default: undefined as number | undefined,
  }),
  dataDir: setting({
    env: 'MCP_AGGREGATOR_DATA_DIR',
    help: 'directory of the embedded database, the credential key and the admin token',
    example: '/var/lib/mcp-aggregator',
    parse: path,
    default: join(homedir(), '.mcp-aggregator'),
    defaultText: '~/.mcp-aggregator',
  }),
  config: setting({
    env: 'MCP_AGGREGATOR_CONFIG',
    help: 'JSON file with "mcpServers" (and "settings"); its servers are kept in step with it',
    example: 'servers.json',
    parse: path,
    default: undefined as string | undefined,
  }),
  adminToken: setting({
    env: 'MCP_AGGREGATOR_ADMIN_TOKEN',
    help: 'the admin token; generated into the data directory when not set',
    example: 'at least 16 characters',
    parse: atLeast(16),
    default: undefined as string | undefined,
    secret: true,
  }),
  anonymous: setting({
    env: 'MCP_AGGREGATOR_ANONYMOUS',
    help: 'what a request without a token may do, on loopback listeners only: caller or viewer',
    example: 'caller',
    parse: oneOf('caller', 'viewer'),
    default: undefined as 'caller' | 'viewer' | undefined,
  }),
  stdio: setting({
    env: 'MCP_AGGREGATOR_STDIO',
    help: 'deny: no server may be a program that the aggregator starts; such servers are refused and not connected',
    example: 'deny',
    parse: oneOf('allow', 'deny'),
    default: 'allow' as 'allow' | 'deny',
  }),
  childUser: setting({
    env: 'MCP_AGGREGATOR_CHILD_USER',
    help: 'the user (a name, or uid:gid) that runs STDIO servers, so that they cannot read the files and memory of the aggregator; needs root',
    example: 'nobody',
    parse: childUser,
    default: undefined as ChildUser | undefined,
    defaultText: 'the user of the aggregator',
  }),
  credentialKey: setting({
    env: 'MCP_CREDENTIAL_KEY',
    help: '32 bytes, base64 or hex, that seal the credentials of servers; required with DATABASE_URL',
    example: 'the output of: openssl rand -base64 32',
    parse: key,
    default: undefined as Buffer | undefined,
    secret: true,
  }),
  credentialKeyPrevious: setting({
    env: 'MCP_CREDENTIAL_KEY_PREVIOUS',
    help: 'the key before the current one, while credentials are sealed anew',
    example: 'the old value of MCP_CREDENTIAL_KEY',
    parse: key,
    default: undefined as Buffer | undefined,
    secret: true,
  }),
  databaseUrl: setting({
    env: 'DATABASE_URL',
    help: 'PostgreSQL instead of the embedded database; any number of replicas may share it',
    example: 'postgres://user@localhost:5432/mcp',
    parse: url('postgres:', 'postgresql:'),
    default: undefined as string | undefined,
    secret: true,
  }),
  redisUrl: setting({
    env: 'REDIS_URL',
    help: 'Redis for events and limits shared between replicas',
    example: 'redis://localhost:6379',
    parse: url('redis:', 'rediss:'),
    default: undefined as string | undefined,
    secret: true,
  }),
  qdrantUrl: setting({
    env: 'QDRANT_URL',
    help: 'Qdrant for the vectors instead of the index in this process',
    example: 'http://localhost:6333',
    parse: url('http:', 'https:'),
    default: undefined as string | undefined,
    secret: true,
  }),
  maxServers: setting({
    env: 'MCP_AGGREGATOR_MAX_SERVERS',
    help: 'how many servers may be registered',
    example: '50',
    parse: integer(1, 100_000),
    default: 50,
  }),
  maxToolsPerServer: setting({
    env: 'MCP_AGGREGATOR_MAX_TOOLS_PER_SERVER',
    help: 'how many tools one server may have',
    example: '1000',
    parse: integer(1, 1_000_000),
    default: 1_000,
  }),
  maxTools: setting({
    env: 'MCP_AGGREGATOR_MAX_TOOLS',
    help: 'how many tools all servers together may have',
    example: '10000',
    parse: integer(1, 10_000_000),
    default: 10_000,
  }),
  maxDefinitionBytes: setting({
    env: 'MCP_AGGREGATOR_MAX_DEFINITION_BYTES',
    help: 'largest definition of a tool, prompt or resource in bytes; also of what a server says of itself',
    example: '1048576',
    parse: integer(1_024, 1_073_741_824),
    default: 1_048_576,
  }),
  maxListBytes: setting({
    env: 'MCP_AGGREGATOR_MAX_LIST_BYTES',
    help: 'largest list of tools, prompts, resources or templates of one server in bytes, all pages together',
    example: '16777216',
    parse: integer(1_024, 1_073_741_824),
    default: 16_777_216,
  }),
  maxServerBytes: setting({
    env: 'MCP_AGGREGATOR_MAX_SERVER_BYTES',
    help: 'bytes that all lists of one server may have together',
    example: '33554432',
    parse: integer(1_024, 1_073_741_824),
    default: 33_554_432,
  }),
  maxCatalogBytes: setting({
    env: 'MCP_AGGREGATOR_MAX_CATALOG_BYTES',
    help: 'bytes that the lists of all servers may have together, those that are being read included',
    example: '67108864',
    parse: integer(1_024, 17_179_869_184),
    default: 67_108_864,
  }),
  healthIntervalMs: setting({
    env: 'MCP_AGGREGATOR_HEALTH_INTERVAL',
    help: 'seconds between two health checks of a server',
    example: '30',
    parse: seconds(0.1, 86_400),
    default: 30_000,
  }),
  connectionTimeoutMs: setting({
    env: 'MCP_AGGREGATOR_CONNECTION_TIMEOUT',
    help: 'seconds that one connection attempt may take',
    example: '30',
    parse: seconds(0.1, 3_600),
    default: 30_000,
  }),
  requestTimeoutMs: setting({
    env: 'MCP_AGGREGATOR_REQUEST_TIMEOUT',
    help: 'seconds that a call may take without an answer or progress',
    example: '60',
    parse: seconds(0.1, 86_400),
    default: minute,
  }),
  requestTimeoutCapMs: setting({
    env: 'MCP_AGGREGATOR_REQUEST_TIMEOUT_CAP',
    help: 'seconds that a call may take in all, however much progress it reports',
    example: '3600',
    parse: seconds(0.1, 7 * 86_400),
    default: 60 * minute,
  }),
  maxConcurrentCalls: setting({
    env: 'MCP_AGGREGATOR_MAX_CONCURRENT_CALLS',
    help: 'calls that one server handles at the same time',
    example: '64',
    parse: integer(1, 100_000),
    default: 64,
  }),
  maxQueuedCalls: setting({
    env: 'MCP_AGGREGATOR_MAX_QUEUED_CALLS',
    help: 'calls that wait for one server; more are refused with 503',
    example: '256',
    parse: integer(0, 1_000_000),
    default: 256,
  }),
  drainTimeoutMs: setting({
    env: 'MCP_AGGREGATOR_DRAIN_TIMEOUT',
    help: 'seconds that a disconnect waits for pending calls',
    example: '30',
    parse: seconds(0, 3_600),
    default: 30_000,
  }),
  shutdownTimeoutMs: setting({
    env: 'MCP_AGGREGATOR_SHUTDOWN_TIMEOUT',
    help: 'seconds that SIGTERM waits for pending calls before it ends everything',
    example: '10',
    parse: seconds(0, 3_600),
    default: 10_000,
  }),
  exposure: setting({
    env: 'MCP_AGGREGATOR_EXPOSURE',
    help: 'what /mcp lists: all tools, only our own (search), or auto: all up to the list limit',
    example: 'auto',
    parse: oneOf('auto', 'all', 'search'),
    default: 'auto' as 'auto' | 'all' | 'search',
  }),
  listLimit: setting({
    env: 'MCP_AGGREGATOR_LIST_LIMIT',
    help: 'with exposure auto: up to so many tools are listed one by one',
    example: '60',
    parse: integer(0, 1_000_000),
    default: 60,
  }),
  listGraceMs: setting({
    env: 'MCP_AGGREGATOR_LIST_GRACE',
    help: 'seconds that the tools of a server stay listed after its connection was lost',
    example: '60',
    parse: seconds(0, 86_400),
    default: minute,
  }),
  sessionIdleMs: setting({
    env: 'MCP_AGGREGATOR_SESSION_IDLE',
    help: 'seconds after which an idle MCP session is closed',
    example: '1800',
    parse: seconds(1, 7 * 86_400),
    default: 30 * minute,
  }),
  maxSessions: setting({
    env: 'MCP_AGGREGATOR_MAX_SESSIONS',
    help: 'MCP sessions open at the same time',
    example: '10000',
    parse: integer(1, 1_000_000),
    default: 10_000,
  }),
  maxSessionsPerPrincipal: setting({
    env: 'MCP_AGGREGATOR_MAX_SESSIONS_PER_PRINCIPAL',
    help: 'MCP sessions that one token may hold; the one idle longest makes room',
    example: '1000',
    parse: integer(1, 1_000_000),
    default: 1_000,
  }),
  maxConnections: setting({
    env: 'MCP_AGGREGATOR_MAX_CONNECTIONS',
    help: 'connections of clients open at the same time; never more than half of the file descriptors (ulimit -n)',
    example: '10000',
    parse: integer(1, 1_000_000),
    default: 10_000,
  }),
  maxConnectionsPerAddress: setting({
    env: 'MCP_AGGREGATOR_MAX_CONNECTIONS_PER_ADDRESS',
    help: 'connections from one address (IPv6: one /64), trusted proxies excepted; never more than three quarters of all',
    example: '2000',
    parse: integer(1, 1_000_000),
    default: 2_000,
  }),
  headerTimeoutMs: setting({
    env: 'MCP_AGGREGATOR_HEADER_TIMEOUT',
    help: 'seconds in which a client must have sent the headers of a request',
    example: '10',
    parse: seconds(0.1, 3_600),
    default: 10_000,
  }),
  bodyTimeoutMs: setting({
    env: 'MCP_AGGREGATOR_BODY_TIMEOUT',
    help: 'seconds in which a client must have sent a whole request, body included',
    example: '60',
    parse: seconds(0.1, 86_400),
    default: minute,
  }),
  maxBodyBytes: setting({
    env: 'MCP_AGGREGATOR_MAX_BODY_BYTES',
    help: 'largest request body in bytes',
    example: '4194304',
    parse: integer(1_024, 1_073_741_824),
    default: 4_194_304,
  }),
  maxMessageBytes: setting({
    env: 'MCP_AGGREGATOR_MAX_MESSAGE_BYTES',
    help: 'largest message in bytes that a server may send',
    example: '67108864',
    parse: integer(65_536, 1_073_741_824),
    default: 33_554_432,
  }),
  allowedHosts: setting({
    env: 'MCP_AGGREGATOR_ALLOWED_HOSTS',
    help: 'host names (comma-separated) that requests may name in Host, beside the address listened on',
    example: 'mcp.example.com,mcp.internal:8081',
    parse: list,
    default: [] as string[],
  }),
  allowedOrigins: setting({
    env: 'MCP_AGGREGATOR_ALLOWED_ORIGINS',
    help: 'web origins (comma-separated) that may call, beside our own',
    example: 'https://app.example.com',
    parse: list,
    default: [] as string[],
  }),
  trustedProxies: setting({
    env: 'MCP_AGGREGATOR_TRUSTED_PROXIES',
    help: 'addresses (comma-separated, also networks, loopback, linklocal, uniquelocal) whose X-Forwarded-For is believed',
    example: '10.0.0.0/8',
    parse: networks,
    default: [] as string[],
  }),
  publicUrl: setting({
    env: 'MCP_AGGREGATOR_PUBLIC_URL',
    help: 'the address that people and clients use, where a proxy stands in front; links and logins lead there',
    example: 'https://mcp.example.com',
    parse: origin,
    default: undefined as string | undefined,
  }),
  clientMetadataUrl: setting({
    env: 'MCP_AGGREGATOR_CLIENT_METADATA_URL',
    help: 'where our OAuth client metadata document is published, when not at the public URL itself',
    example: 'https://example.com/mcp-aggregator.json',
    parse: url('https:'),
    default: undefined as string | undefined,
  }),
  oidcIssuer: setting({
    env: 'MCP_AGGREGATOR_OIDC_ISSUER',
    help: 'an identity provider whose access tokens are accepted beside our own tokens',
    example: 'https://login.example.com',
    parse: url('http:', 'https:'),
    default: undefined as string | undefined,
  }),
  oidcAudience: setting({
    env: 'MCP_AGGREGATOR_OIDC_AUDIENCE',
    help: 'audiences (comma-separated) that mean us in such tokens, beside the address of the endpoint',
    example: 'api://mcp-aggregator',
    parse: list,
    default: [] as string[],
  }),
  oidcRequiredScopes: setting({
    env: 'MCP_AGGREGATOR_OIDC_REQUIRED_SCOPES',
    help: 'scopes (comma-separated) that such tokens must have',
    example: 'mcp:use',
    parse: list,
    default: [] as string[],
  }),
  oidcRoleClaim: setting({
    env: 'MCP_AGGREGATOR_OIDC_ROLE_CLAIM',
    help: 'the claim that decides the role, with dots for nested ones',
    example: 'realm_access.roles',
    parse: text,
    default: 'roles',
  }),
  oidcRoles: setting({
    env: 'MCP_AGGREGATOR_OIDC_ROLES',
    help: 'role=value pairs (comma-separated): who has the value in the claim has the role; others may call',
    example: 'admin=mcp-admins,viewer=auditors',
    parse: rolePairs,
    default: [] as string[],
    defaultText: 'anonymous clients are callers',
  }),
  oidcClientId: setting({
    env: 'MCP_AGGREGATOR_OIDC_CLIENT_ID',
    help: 'our own client at the identity provider: lets people sign in to the dashboard and our pages with it',
    example: 'mcp-aggregator',
    parse: text,
    default: undefined as string | undefined,
  }),
  oidcClientSecret: setting({
    env: 'MCP_AGGREGATOR_OIDC_CLIENT_SECRET',
    help: 'the secret of that client, if it has one',
    example: 'from the identity provider',
    parse: text,
    default: undefined as string | undefined,
    secret: true,
  }),
  oidcCliClientId: setting({
    env: 'MCP_AGGREGATOR_OIDC_CLI_CLIENT_ID',
    help: 'a public client at the identity provider, for mcp-aggregator sign-in; otherwise our own, if it has no secret',
    example: 'mcp-aggregator-cli',
    parse: text,
    default: undefined as string | undefined,
  }),
  metricsPublic: setting({
    env: 'MCP_AGGREGATOR_METRICS_PUBLIC',
    help: 'true: /metrics needs no token',
    example: 'true',
    parse: boolean,
    default: false,
  }),
  metricsToolLabels: setting({
    env: 'MCP_AGGREGATOR_METRICS_TOOL_LABELS',
    help: 'true: calls are counted per tool; one series more for every tool that is called',
    example: 'true',
    parse: boolean,
    default: false,
  }),
  auditRetentionDays: setting({
    env: 'MCP_AGGREGATOR_AUDIT_RETENTION_DAYS',
    help: 'days that audit records are kept; 0 keeps them forever',
    example: '365',
    parse: integer(0, 36_500),
    default: 0,
  }),
  backups: setting({
    env: 'MCP_AGGREGATOR_BACKUPS',
    help: 'daily copies of the embedded database that are kept in the data directory; 0 makes none',
    example: '7',
    parse: integer(0, 1_000),
    default: 7,
  }),
  showPayloads: setting({
    env: 'MCP_AGGREGATOR_SHOW_PAYLOADS',
    help: 'true: admins see arguments and results of the latest calls; kept in memory, 16 KB each, without known secrets',
    example: 'true',
    parse: boolean,
    default: false,
  }),
  toolChanges: setting({
    env: 'MCP_AGGREGATOR_TOOL_CHANGES',
    help: 'a tool that changed after it was first seen: allow it, or review: keep the old one and hold its calls',
    example: 'review',
    parse: oneOf('allow', 'review'),
    default: 'allow' as 'allow' | 'review',
  }),
  queryDuplicateThreshold: setting({
    env: 'MCP_AGGREGATOR_QUERY_DUPLICATE_THRESHOLD',
    help: 'similarity, 0 to 1, above which a query merges results of different servers; 1 merges equal ones only',
    example: '0.9',
    parse: share,
    default: 0.8,
  }),
  otlpEndpoint: setting({
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    help: 'where traces are sent (OTLP over HTTP, JSON); nothing is traced when not set',
    example: 'http://localhost:4318',
    parse: url('http:', 'https:'),
    default: undefined as string | undefined,
    secret: true,
  }),
  otlpHeaders: setting({
    env: 'OTEL_EXPORTER_OTLP_HEADERS',
    help: 'headers (name=value, comma-separated) for the collector of traces',
    example: 'x-api-key=abc',
    parse: list,
    default: [] as string[],
    secret: true,
  }),
  otelServiceName: setting({
    env: 'OTEL_SERVICE_NAME',
    help: 'the name under which traces appear',
    example: 'mcp-aggregator',
    parse: text,
    default: 'mcp-aggregator',
  }),
  embeddingsUrl: setting({
    env: 'MCP_AGGREGATOR_EMBEDDINGS_URL',
    help: 'an OpenAI-compatible service for embeddings instead of the embedded table',
    example: 'http://localhost:11434/v1',
    parse: url('http:', 'https:'),
    default: undefined as string | undefined,
  }),
  embeddingsModel: setting({
    env: 'MCP_AGGREGATOR_EMBEDDINGS_MODEL',
    help: 'the model that the embeddings service is asked for',
    example: 'text-embedding-3-small',
    parse: text,
    default: 'text-embedding-3-small',
  }),
  embeddingsApiKey: setting({
    env: 'MCP_AGGREGATOR_EMBEDDINGS_API_KEY',
    help: 'the key of the embeddings service',
    example: 'sk-…',
    parse: text,
    default: undefined as string | undefined,
    secret: true,
  }),
  anthropicApiKey: setting({
    env: 'ANTHROPIC_API_KEY',
    help: 'lets a model classify tools, rerank and build contexts',
    example: 'sk-ant-…',
    parse: text,
    default: undefined as string | undefined,
    secret: true,
  }),
  anthropicBaseUrl: setting({
    env: 'ANTHROPIC_BASE_URL',
    help: 'where the Messages API is',
    example: 'https://api.anthropic.com',
    parse: url('http:', 'https:'),
    default: 'https://api.anthropic.com',
  }),
  model: setting({
    env: 'MCP_AGGREGATOR_MODEL',
    help: 'the model that is asked',
    example: 'claude-haiku-4-5',
    parse: text,
    default: 'claude-haiku-4-5',
  }),
  logLevel: setting({
    env: 'MCP_AGGREGATOR_LOG_LEVEL',
    help: 'debug, info, warn, error or silent',
    example: 'info',
    parse: oneOf('debug', 'info', 'warn', 'error', 'silent'),
    default: 'info' as 'debug' | 'info' | 'warn' | 'error' | 'silent',
  }),
  logFormat: setting({
    env: 'MCP_AGGREGATOR_LOG_FORMAT',
    help: 'json, text, or auto: text on a terminal and JSON elsewhere',
    example: 'json',
    parse: oneOf('auto', 'json', 'text'),
    default: 'auto' as 'auto' | 'json' | 'text',
  }),
};

type Settings = typeof settings;
export type SettingName = keyof Settings;
export type Config = Readonly<{
  [Name in SettingName]: Settings[Name] extends Setting<infer T> ? T : never;
}> & { readonly environment: Readonly<NodeJS.ProcessEnv> };

/** Flags win over the environment, the environment over the config file. Everything wrong is reported at once. */
export function loadConfig(environment: NodeJS.ProcessEnv, flags: Partial<Record<string, string>> = {}): Config {
  const problems: string[] = [];
  const fileName = flags.config ?? environment[settings.config.env];
  const fromFile = fileName === undefined ? {} : readSettings(fileName, problems);
  const values: Record<string, unknown> = {};

  for (const [name, definition] of Object.entries(settings) as [SettingName, Setting<unknown>][]) {
    const source = [
      { label: `--${flagOf(name)}`, text: flags[name] },
      { label: definition.env, text: environment[definition.env] },
      { label: fileVariableOf(definition), text: readSecret(definition, environment, problems) },
      { label: `${fileName}: settings.${name}`, text: fromFile[name] },
    ].find((candidate) => candidate.text !== undefined && candidate.text !== '');
    values[name] = definition.default;
    if (source?.text === undefined) continue;
    try {
      values[name] = definition.parse(source.text);
    } catch (error) {
      const shown = definition.secret ? 'the value' : JSON.stringify(source.text);
      problems.push(`${source.label}: ${shown} ${describe(error)}; example: ${definition.example}`);
    }
  }

  const config = Object.freeze({ ...values, environment: Object.freeze({ ...environment }) }) as Config;
  if (problems.length === 0) problems.push(...contradictions(config));
  if (problems.length > 0) throw new AppError('CONFIGURATION_INVALID', problems.join('\n'));
  return config;
}

/** Every secret can also be in a file, as Docker and Kubernetes hand them out. */
export function fileVariableOf({ env }: Pick<Setting<unknown>, 'env'>): string {
  return `${env}_FILE`;
}

function readSecret(definition: Setting<unknown>, environment: NodeJS.ProcessEnv, problems: string[]) {
  const variable = fileVariableOf(definition);
  const file = definition.secret ? environment[variable] : undefined;
  if (file === undefined || file === '') return undefined;
  if ((environment[definition.env] ?? '') !== '') {
    problems.push(`${variable}: ${definition.env} is set as well; example: ${variable}=/run/secrets/name alone`);
    return undefined;
  }
  try {
    const content = readFileSync(file, 'utf8').trim();
    if (content !== '') return content;
    problems.push(`${variable}: ${file} is empty; example: ${variable}=/run/secrets/name`);
  } catch (error) {
    problems.push(`${variable}: ${file} cannot be read: ${describe(error)}; example: ${variable}=/run/secrets/name`);
  }
  return undefined;
}

function contradictions(config: Config): string[] {
  const problems: string[] = [];
  if (config.databaseUrl !== undefined && config.credentialKey === undefined) {
    problems.push(
      `MCP_CREDENTIAL_KEY: required with DATABASE_URL, because replicas share it; example: ${settings.credentialKey.example}`,
    );
  }
  if (config.childUser !== undefined && config.childUser.uid === process.getuid?.()) {
    problems.push(
      'MCP_AGGREGATOR_CHILD_USER: is the user that runs the aggregator, which protects nothing; example: nobody',
    );
  }
  if (config.anonymous !== undefined && !isLoopback(config.host)) {
    problems.push(
      `MCP_AGGREGATOR_ANONYMOUS: only allowed on a loopback address, and MCP_AGGREGATOR_HOST is ${config.host}; example: MCP_AGGREGATOR_HOST=127.0.0.1`,
    );
  }
  if (config.oidcIssuer?.startsWith('http:') && !isLoopback(new URL(config.oidcIssuer).hostname)) {
    problems.push(
      'MCP_AGGREGATOR_OIDC_ISSUER: must be https, except on this machine; example: https://login.example.com',
    );
  }
  return problems;
}

/** What must never be shown: the secrets as they were given, and the passwords inside of URLs. */
export function secretValues(config: Config): string[] {
  return (Object.entries(settings) as [SettingName, Setting<unknown>][]).flatMap(([name, { secret }]) => {
    const value = config[name];
    if (secret === undefined || value === undefined) return [];
    if (Buffer.isBuffer(value)) return [value.toString('base64'), value.toString('base64url'), value.toString('hex')];
    const texts = Array.isArray(value)
      ? value.flatMap((entry) => [entry, entry.slice(entry.indexOf('=') + 1)])
      : [String(value)];
    return texts.flatMap((text) => {
      if (!URL.canParse(text)) return [text];
      // The address itself is no secret.
      const { password } = new URL(text);
      return password === '' ? [] : [password, decodeURIComponent(password)];
    });
  });
}

/** `healthIntervalMs` is `--health-interval`: flags, like variables, count in seconds. */
export function flagOf(name: SettingName): string {
  return name.replace(/Ms$/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function readSettings(fileName: string, problems: string[]): Record<string, string> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(fileName, 'utf8'));
  } catch (error) {
    problems.push(
      `${settings.config.env}: ${fileName} cannot be read as JSON: ${describe(error)}; example: servers.json`,
    );
    return {};
  }
  const found = (parsed as { settings?: unknown } | null)?.settings ?? {};
  const known = Object.entries(found).filter(([name]) => {
    if (name in settings) return true;
    problems.push(`${fileName}: settings.${name}: no such setting; example: "port": 8081`);
    return false;
  });
  return Object.fromEntries(
    known.map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : String(value)]),
  );
}

function text(value: string): string {
  return value;
}

function path(value: string): string {
  return resolve(value.replace(/^~(?=\/|$)/, homedir()));
}

function list(value: string): string[] {
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function childUser(value: string): ChildUser {
  const numbers = /^(\d{1,10}):(\d{1,10})$/.exec(value);
  if (numbers !== null) return { uid: Number(numbers[1]), gid: Number(numbers[2]), home: '/' };
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${value}:`));
  const [name, , uid, gid, , home = '/'] = line?.split(':') ?? [];
  if (name === undefined) throw new Error('is no user of this machine and not uid:gid');
  return { uid: Number(uid), gid: Number(gid), name, home };
}

function networks(value: string): string[] {
  for (const entry of list(value)) {
    if (/^(?:loopback|linklocal|uniquelocal)$/.test(entry)) continue;
    const [address = '', bits, ...more] = entry.split('/');
    const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
    const isSubnet = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
    if (most === -1 || !isSubnet || more.length > 0) throw new Error('has an entry that is no address and no network');
  }
  return list(value);
}

function boolean(value: string): boolean {
  if (/^(true|1|yes|on)$/i.test(value)) return true;
  if (/^(false|0|no|off)$/i.test(value)) return false;
  throw new Error('is neither true nor false');
}

function integer(least: number, most: number): Parse<number> {
  return (value) => {
    const number = Number(value);
    if (!Number.isInteger(number) || number < least || number > most) {
      throw new Error(`is not a whole number from ${least} to ${most}`);
    }
    return number;
  };
}

function share(value: string): number {
  const number = Number(value);
  if (value.trim() === '' || !(number >= 0 && number <= 1)) throw new Error('is not a number from 0 to 1');
  return number;
}

function seconds(least: number, most: number): Parse<number> {
  return (value) => {
    const number = Number(value);
    if (!(number >= least && number <= most)) throw new Error(`is not a number of seconds from ${least} to ${most}`);
    return Math.round(number * 1_000);
  };
}

function oneOf<const T extends string>(...choices: T[]): Parse<T> {
  return (value) => {
    const choice = choices.find((candidate) => candidate === value);
    if (choice === undefined) throw new Error(`is not one of ${choices.join(', ')}`);
    return choice;
  };
}

function atLeast(length: number): Parse<string> {
  return (value) => {
    if (value.length < length) throw new Error(`is shorter than ${length} characters`);
    return value;
  };
}

function url(...protocols: string[]): Parse<string> {
  return (value) => {
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol)) {
      throw new Error(`is not a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
    }
    return value;
  };
}

function origin(value: string): string {
  const checked = url('http:', 'https:')(value);
  if (new URL(checked).origin !== checked.replace(/\/$/, '')) throw new Error('is not an address without a path');
  return new URL(checked).origin;
}

function rolePairs(value: string): string[] {
  const pairs = list(value);
  if (pairs.every((pair) => /^(admin|caller|viewer)=./.test(pair))) return pairs;
  throw new Error('is not a list of role=value, where role is admin, caller or viewer');
}

function key(value: string): Buffer {
  const bytes = decodeKey(value);
  if (bytes === undefined) throw new Error('is not 32 bytes in base64 or hex');
  return bytes;
}
