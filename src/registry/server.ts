/** What a server is: the one schema for registering, changing, importing and documenting it. */
import { z } from 'zod';
import { holdsCredential } from '../security/connection-secrets.ts';
import { isSecureEnough } from '../security/plain-http.ts';
import { referencesTo } from '../security/variables.ts';
import type { TransportType } from '../store/schema.ts';
import { ownerships, protocols, startModes } from './server-choices.ts';
import { toolOverrides, withoutCredentials } from './tool-overrides.ts';

export const transportTypes = ['STDIO', 'SSE', 'HTTP'] as const satisfies readonly TransportType[];

/** NUL ends a string for the operating system and for PostgreSQL; in a credential it would also defeat the mask. */
const text = (most: number) => z.string().max(most).refine(hasNoNul, 'must not contain a NUL character');

function hasNoNul(value: string): boolean {
  return !value.includes('\0');
}

const requiredText = (transport: TransportType, field: string) => {
  const message = `${transport} transport requires '${field}' in connection_config`;
  return z
    .string({ error: message })
    .min(1, message)
    .max(8_192, `${field} may have at most 8192 characters`)
    .refine(hasNoNul, 'must not contain a NUL character');
};

const environment = z.record(
  z
    .string()
    .max(256)
    .refine((name) => hasNoNul(name) && name !== '' && !name.includes('='), 'is not a valid variable name'),
  text(32_768),
);

/** They are about one connection and are ours to set (RFC 9110, 7.6.1); the length belongs to the body. */
const connectionHeaders = new Set([
  ...['connection', 'content-length', 'http2-settings', 'keep-alive', 'proxy-authenticate', 'proxy-authorization'],
  ...['proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
]);

const headers = z
  .record(
    z
      .string()
      .max(256)
      .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'is not a valid header name'),
    text(32_768).refine((value) => !/[\r\n]/.test(value), 'must not contain a line break'),
  )
  .superRefine((given, context) => {
    for (const name of Object.keys(given).filter((one) => connectionHeaders.has(one.toLowerCase()))) {
      const message = `${name} is a connection-level header and cannot be set for a server`;
      context.addIssue({ code: 'custom', path: [name], message });
    }
  });

const serverUrl = (transport: TransportType, field: string) =>
  requiredText(transport, field).superRefine((value, context) => {
    const problem = urlProblem(value);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: `${field} ${problem}` });
  });

/** How we get tokens for a server that wants them; everything can be left out where the server's metadata say it. */
const oauthConfig = z.strictObject({
  grant: z
    .enum(['authorization_code', 'client_credentials'])
    .optional()
    .describe('authorization_code: a user logs in; client_credentials: the aggregator logs in without a user'),
  client_id: text(2_048).min(1).optional().describe('ID of the client that is registered at the authorization server'),
  client_secret: text(8_192).min(1).optional(),
  private_key: text(32_768).min(1).optional().describe('PEM; signs assertions instead of a client_secret'),
  signing_algorithm: z.enum(['RS256', 'ES256', 'EdDSA']).optional(),
  issuer: text(2_048)
    .min(1)
    .optional()
    .describe('issuer of the authorization server; set it if the server lists none or several'),
  scopes: z
    .array(text(256).min(1))
    .max(100)
    .optional()
    .describe('scopes to request instead of the ones that the server lists'),
});
export type OauthConfig = z.infer<typeof oauthConfig>;

/** What each user enters for a server: only where it reaches the server as a value, and neither its address nor its command line. */
function checkUserKeys(config: object, context: z.RefinementCtx): void {
  for (const [field, value] of Object.entries(config)) {
    const names = referencesTo(value, 'user');
    const wrong = names.find((name) => !userKeyName.safeParse(name).success);
    if (names.length > 0 && field !== 'headers' && field !== 'env') {
      const message = `${field} cannot refer to \${user:…}, which can be used in headers and env only`;
      context.addIssue({ code: 'custom', path: [field], message });
    } else if (wrong !== undefined) {
      const message = `\${user:${wrong}} is not a name: use up to 64 letters, digits and "_"`;
      context.addIssue({ code: 'custom', path: [field], message });
    }
  }
  if (userKeysIn(config).length > maxUserKeys) {
    context.addIssue({ code: 'custom', message: `users can be asked for at most ${maxUserKeys} keys` });
  }
}

const maxUserKeys = 20;
export const userKeyName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/);

/** The names of the keys that each user of the server enters. */
export const userKeysIn = (config: object): string[] => referencesTo(config, 'user');

export const connectionConfigs = {
  STDIO: z
    .strictObject({
      command: requiredText('STDIO', 'command'),
      args: z.array(text(32_768)).max(1_000).optional(),
      env: environment.optional(),
      env_file: text(4_096).min(1).optional().describe('a file of NAME=value lines; relative to cwd'),
      cwd: text(4_096).min(1).optional(),
    })
    .superRefine(checkUserKeys),
  SSE: z
    .strictObject({ url: serverUrl('SSE', 'url'), headers: headers.optional(), oauth: oauthConfig.optional() })
    .superRefine(checkUserKeys),
  HTTP: z
    .strictObject({
      base_url: serverUrl('HTTP', 'base_url'),
      headers: headers.optional(),
      oauth: oauthConfig.optional(),
    })
    .superRefine(checkUserKeys),
};

type StdioConfig = z.infer<typeof connectionConfigs.STDIO>;
type SseConfig = z.infer<typeof connectionConfigs.SSE>;
type HttpConfig = z.infer<typeof connectionConfigs.HTTP>;
export type Connection =
  | { transport_type: 'STDIO'; connection_config: StdioConfig }
  | { transport_type: 'SSE'; connection_config: SseConfig }
  | { transport_type: 'HTTP'; connection_config: HttpConfig };

const serverName = z
  .string()
  .max(255, 'name may have at most 255 characters')
  .regex(/^[a-z][a-z0-9_-]*$/, 'name must start with a lowercase letter and contain only a-z, 0-9, "-" and "_"');

const template = withoutCredentials(z.record(z.string().max(200), z.unknown()));

/** What an administrator wrote down for the aggregator query replaces what it would work out. */
const queryTools = z
  .array(
    z.strictObject({
      tool: z.string().min(1).max(255),
      arguments: template
        .default({})
        .describe(
          '"{{query}}" and "{{keywords}}" are replaced inside strings; with "{{word}}" every keyword is a call',
        ),
      follow_up: z
        .strictObject({
          tool: z.string().min(1).max(255),
          arguments: template.describe('also "{{id}}"'),
          ids: z.array(z.string().min(1).max(255)).min(1).max(10).default(['id']).describe('keys that hold the id'),
          take: z.int().min(1).max(5).default(1),
        })
        .optional(),
    }),
  )
  .max(10);

/** Settings of one server beyond its connection. */
const serverOptions = z.strictObject({
  sessions: z
    .enum(['auto', ...ownerships, 'per_client'])
    .optional()
    .describe(
      'whose a session with the server is. shared: one for all. client: one for each MCP client. principal: one for each ' +
        'token or user. auto: client where the server sends requests to its client or its tools keep state, else shared. per_client: former name of client',
    ),
  start: z
    .enum(startModes)
    .optional()
    .describe(
      'on_demand: the server is started by the first call that needs it and ended when it is idle; the default for ' +
        'STDIO. always: it stays connected; the default for SSE and HTTP',
    ),
  protocol: z
    .enum(protocols)
    .optional()
    .describe(
      'protocol revisions to use with the server. legacy: up to 2025-11-25. modern: 2026-07-28. auto: what it supports',
    ),
  credentials: z
    .enum(['shared', 'per_principal'])
    .optional()
    .describe('per_principal: each user logs in to the server and calls it with their own credentials'),
  request_timeout: z.number().min(0.1).max(86_400).optional().describe('seconds'),
  max_concurrent_calls: z.int().min(1).max(100_000).optional(),
  max_queued_calls: z.int().min(0).max(1_000_000).optional(),
  query_tools: queryTools
    .optional()
    .describe('calls that the aggregator query makes on this server instead of planning its own'),
  query_readers: z
    .array(z.string().min(1).max(255))
    .max(100)
    .optional()
    .describe(
      'tools that the aggregator query may call although they are not marked as read-only; SQL is still limited to SELECT',
    ),
});
export type ServerOptions = z.infer<typeof serverOptions>;

const common = {
  description: z
    .string()
    .max(1_000, 'description may have at most 1000 characters')
    .refine(hasNoNul, 'must not contain a NUL character')
    .nullish(),
  health_check_url: z
    .url({ protocol: /^https?$/, error: 'health_check_url must be an http or https URL' })
    .refine(hasNoCredentials, 'health_check_url must not contain a user name or password: it is shown to all users')
    .refine(
      (url) => !holdsCredential(url),
      'health_check_url must not contain a key or token: it is stored in plain text',
    )
    .nullish(),
  auto_connect: z.boolean().optional(),
  options: serverOptions.optional(),
  tool_overrides: toolOverrides.optional(),
};

const registrationOf = <T extends TransportType>(transport: T) =>
  z.strictObject({
    name: serverName,
    transport_type: z.literal(transport),
    connection_config: connectionConfigs[transport],
    ...common,
  });

export const registration = z.discriminatedUnion(
  'transport_type',
  [registrationOf('STDIO'), registrationOf('SSE'), registrationOf('HTTP')],
  { error: (issue) => (issue.code === 'invalid_union' ? 'transport_type must be one of STDIO, SSE, HTTP' : undefined) },
);
export type Registration = z.infer<typeof registration>;

/** EC-008: everything may change. */
export const serverPatch = z.strictObject({
  name: serverName.optional().describe('renames the server and with it all its tools'),
  transport_type: z.enum(transportTypes).optional(),
  connection_config: z.record(z.string(), z.unknown()).optional(),
  ...common,
});
export type ServerPatch = z.infer<typeof serverPatch>;

function hasNoCredentials(value: string): boolean {
  if (!URL.canParse(value)) return true; // reported as no URL
  const { username, password } = new URL(value);
  return username === '' && password === '';
}

const variable = /\$\{[^}]*\}/g;

/** What is wrong with a server's URL, or undefined. One that begins with `${VAR}` is checked when connecting. */
function urlProblem(value: string): string | undefined {
  const url = literalUrl(value);
  if (url === undefined) return undefined;
  if (url === 'none') return 'must be a URL, for example https://mcp.example.com/mcp';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password; use headers';
  return /^https?:$/.test(url.protocol) ? undefined : 'must start with https://';
}

/** The same about plain http, which depends on the settings. */
export function plainHttpProblem(value: string, allowHttp: readonly string[]): string | undefined {
  const url = literalUrl(value);
  if (url === undefined || (url !== 'none' && isSecureEnough(url.href, allowHttp))) return undefined;
  return 'must start with https://; plain http is allowed for loopback addresses, and for the hosts that MCP_AGGREGATOR_ALLOW_HTTP names';
}

/** Undefined where the beginning is not known yet. */
function literalUrl(value: string): URL | 'none' | undefined {
  if (value.search(variable) === 0) return undefined;
  const plain = value.replace(variable, 'variable');
  return URL.canParse(plain) ? new URL(plain) : 'none';
}
