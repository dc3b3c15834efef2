import { AppError } from '../errors.ts';
import { isLoopback } from '../loopback.ts';
import type { Role } from '../store/schema.ts';
import type { Principal } from './auth.ts';

const rank: Record<Role, number> = { viewer: 0, caller: 1, admin: 2 };

export function requireRole(principal: Principal, role: Role): void {
  if (rank[principal.role] >= rank[role]) return;
  throw new AppError('FORBIDDEN', `This requires the role ${role}; ${principal.name} has the role ${principal.role}`);
}

export function lowerRole(a: Role, b: Role): Role {
  return rank[a] <= rank[b] ? a : b;
}

/** Whose keys and logins a principal uses: the user's who created its token, else its own. */
export function userOf({ id, user = id }: Pick<Principal, 'id' | 'user'>): string {
  return user;
}

export function maySee(principal: Principal, serverName: string): boolean {
  return principal.servers === null || principal.servers.has(serverName);
}

/** Whether a token is limited to servers or a profile. The limits apply to every role. */
export function isBound({ servers, profile }: Pick<Principal, 'servers' | 'profile'>): boolean {
  return servers !== null || profile !== null;
}

/** For actions that affect more than a limited principal may access: the configuration, commands, other tokens. */
export function requireUnbound(principal: Principal, what = 'This'): void {
  if (!isBound(principal)) return;
  throw new AppError(
    'FORBIDDEN',
    `${what} requires a token without limits; ${principal.name} is limited to ${limitsOf(principal)}`,
  );
}

/** Whether the limits of a token are within the limits of the principal. */
export function isWithin(
  principal: Principal,
  token: { servers: readonly string[] | null; profile: string | null },
): boolean {
  const { servers, profile } = principal;
  if (servers !== null && !(token.servers?.every((name) => servers.has(name)) ?? false)) return false;
  return profile === null || token.profile === profile;
}

export function limitsOf({ servers, profile }: Principal): string {
  const parts = [
    ...(servers === null ? [] : [`the servers ${[...servers].join(', ')}`]),
    ...(profile === null ? [] : [`the profile ${profile}`]),
  ];
  return parts.join(' and ');
}

interface BoundAddress {
  boundHost: string;
  boundPort: number;
  /** `example.com` for any port, `example.com:8443` for one, `*` for every host. */
  allowedHosts: readonly string[];
  /** Its host is allowed on any port: a proxy may or may not pass the port on. It does not make the others foreign. */
  publicUrl?: string;
}

/**
 * A web page whose name was made to point at 127.0.0.1 (DNS rebinding) still sends its own name: a loopback listener
 * answers to loopback names only. Elsewhere the name is checked where a list is configured.
 */
export function checkHost(hostHeader: string | undefined, listener: BoundAddress): void {
  const { boundHost, boundPort, allowedHosts, publicUrl } = listener;
  const host = parseHost(hostHeader);
  const names = host === undefined ? [] : [host.hostname, host.host];
  if (allowedHosts.some((allowed) => allowed === '*' || names.includes(allowed.toLowerCase()))) return;
  if (host !== undefined && isLoopback(host.hostname)) return;
  if (host !== undefined && publicUrl !== undefined && host.hostname === new URL(publicUrl).hostname) return;
  if (host !== undefined && !isLoopback(boundHost) && allowedHosts.length === 0) return;
  throw new AppError(
    'HOST_NOT_ALLOWED',
    `Host not allowed: ${hostHeader ?? '(none)'}; use ${boundHost}:${boundPort}, add the name to ` +
      'MCP_AGGREGATOR_ALLOWED_HOSTS, or set MCP_AGGREGATOR_PUBLIC_URL if it is the public address',
  );
}

/** Programs send no Origin. The origin of a browser must be our own, loopback on a loopback listener, or allowed. */
export function checkOrigin(
  origin: string | undefined,
  hostHeader: string | undefined,
  allowedOrigins: readonly string[],
): void {
  if (origin === undefined || isAllowedOrigin(origin, hostHeader, allowedOrigins)) return;
  throw new AppError('ORIGIN_NOT_ALLOWED', `Origin not allowed: ${origin}; add it to MCP_AGGREGATOR_ALLOWED_ORIGINS`);
}

/** The allowed origins with our own behind a proxy, which may pass on another Host than browsers see. */
export function originsOf({ allowedOrigins, publicUrl }: { allowedOrigins: readonly string[]; publicUrl?: string }) {
  return publicUrl === undefined ? allowedOrigins : [...allowedOrigins, publicUrl];
}

export function isAllowedOrigin(
  originHeader: string,
  hostHeader: string | undefined,
  allowedOrigins: readonly string[],
): boolean {
  if (allowedOrigins.includes('*') || allowedOrigins.includes(originHeader)) return true;
  if (!URL.canParse(originHeader)) return false;
  const origin = new URL(originHeader);
  const host = parseHost(hostHeader, origin.protocol);
  if (host === undefined) return false;
  return origin.host === host.host || (isLoopback(origin.hostname) && isLoopback(host.hostname));
}

/**
 * Both checks for every request of a listener. Clients mostly send the same names, so the ones that passed last are
 * remembered.
 */
export function createEntryCheck(listener: BoundAddress, allowedOrigins: readonly string[]) {
  let passed: { host?: string; origin?: string } = {};
  return (host: string | undefined, origin: string | undefined): void => {
    if (host !== undefined && host === passed.host && origin === passed.origin) return;
    checkHost(host, listener);
    checkOrigin(origin, host, allowedOrigins);
    passed = { host, origin };
  };
}

/** Parses a Host header strictly: `a@b` or `a/b` would parse as a URL with a different host. */
function parseHost(header: string | undefined, protocol = 'http:'): URL | undefined {
  if (header === undefined || !/^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d+)?$/i.test(header)) return undefined;
  const url = `${protocol}//${header}`;
  return URL.canParse(url) ? new URL(url) : undefined;
}

/** Variables that programs need; any other variable of our environment may be a secret. */
const inherited = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LANGUAGE', 'TERM', 'TMPDIR', 'TZ', 'DISPLAY'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'ALL_PROXY'],
  ...['APPDATA', 'COMSPEC', 'HOMEDRIVE', 'HOMEPATH', 'LOCALAPPDATA', 'NUMBER_OF_PROCESSORS', 'OS', 'PATHEXT'],
  ...['PROCESSOR_ARCHITECTURE', 'PROGRAMDATA', 'PROGRAMFILES', 'PROGRAMFILES(X86)', 'SYSTEMDRIVE', 'SYSTEMROOT'],
  ...['TEMP', 'TMP', 'USERNAME', 'USERPROFILE', 'WINDIR'],
]);

/** Passed to every child process, so their values are not secret. */
export function isInherited(name: string): boolean {
  // Windows writes "Path", proxies are often lower case.
  const upper = name.toUpperCase();
  return inherited.has(upper) || upper.startsWith('LC_') || upper.startsWith('XDG_');
}

/** The environment of a STDIO server: an allow-list plus what its own config sets. */
export function childEnvironment(
  processEnv: Readonly<Record<string, string | undefined>>,
  own: Readonly<Record<string, string>> = {},
  platform = process.platform,
): Record<string, string> {
  const environment: Record<string, string> = {};
  // On Windows `Path` and `PATH` are one variable.
  const same = (name: string) => (platform === 'win32' ? name.toUpperCase() : name);
  const set = new Set(Object.keys(own).map(same));
  for (const [name, value] of Object.entries(processEnv)) {
    if (value === undefined || !isInherited(name) || set.has(same(name))) continue;
    // A child process that is a shell would import exported shell functions.
    if (!value.startsWith('()')) environment[name] = value;
  }
  return { ...environment, ...own };
}
