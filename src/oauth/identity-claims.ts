/** Maps the claims of an identity provider to a principal, as configured. Pure. */
import { createHash } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import type { Principal } from '../security/auth.ts';
import type { Role } from '../store/schema.ts';
import { scopesOf } from './challenge.ts';
import type { Claims } from './jwt.ts';

type Mapping = Pick<Config, 'oidcRoleClaim' | 'oidcRoles' | 'oidcProfileClaim' | 'oidcProfiles' | 'oidcUserClaim'>;

export const accountPrefix = 'oidc:';

export function toPrincipal(claims: Claims, config: Mapping): Principal {
  const role = roleOf(claims, config);
  const name = [claims.preferred_username, claims.email, claims.sub].find((one) => typeof one === 'string');
  return {
    id: idOf(claims, config),
    name: String(name),
    role,
    servers: null,
    profile: role === 'admin' ? null : profileOf(claims, config),
  };
}

/** The same in every token of the person: other clients may be given another `sub`. */
function idOf(claims: Claims, { oidcUserClaim }: Mapping): string {
  const user = claims[oidcUserClaim];
  if (typeof user !== 'string' || user === '') {
    throw new AppError(
      'FORBIDDEN',
      `The token of the identity provider lacks the claim ${oidcUserClaim}, which identifies the user`,
    );
  }
  const named = oidcUserClaim === 'sub' ? [claims.iss, user] : [claims.iss, oidcUserClaim, user];
  return `${accountPrefix}${createHash('sha256').update(JSON.stringify(named)).digest('hex').slice(0, 32)}`;
}

/** The highest role whose value is in the claim. Nobody is an admin unless the mapping says so. */
export function roleOf(
  claims: Claims,
  { oidcRoleClaim, oidcRoles }: Pick<Mapping, 'oidcRoleClaim' | 'oidcRoles'>,
): Role {
  const values = valuesOf(claims, oidcRoleClaim);
  const has = (role: Role) => values.some((value) => oidcRoles.includes(`${role}=${value}`));
  const mapped = (['admin', 'caller', 'viewer'] as const).find(has);
  if (mapped !== undefined) return mapped;
  if (oidcRoles.some((pair) => pair.startsWith('caller='))) {
    const why = leavesOutGroups(claims)
      ? '; it left out your groups because there are too many, so map application roles instead'
      : '';
    throw new AppError('FORBIDDEN', `The identity provider assigns you no role in this aggregator${why}`);
  }
  return 'caller';
}

/** The first pair that matches. */
export function profileOf(
  claims: Claims,
  { oidcRoleClaim, oidcProfileClaim = oidcRoleClaim, oidcProfiles }: Omit<Mapping, 'oidcRoles' | 'oidcUserClaim'>,
): string | null {
  const values = valuesOf(claims, oidcProfileClaim);
  for (const pair of oidcProfiles) {
    const at = pair.indexOf('=');
    const wanted = pair.slice(at + 1);
    if (wanted === '*' || values.includes(wanted)) return pair.slice(0, at);
  }
  return null;
}

/** Entra ID names another place for the groups of a user who has more than 200. */
function leavesOutGroups({ hasgroups, _claim_names: names }: Claims): boolean {
  return hasgroups === true || (isRecord(names) && 'groups' in names);
}

/** Of a claim by its name, which may be a URL with dots, or nested by dots. */
function valuesOf(claims: Claims, name: string): string[] {
  const nested = () =>
    name.split('.').reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), claims);
  const found = Object.hasOwn(claims, name) ? claims[name] : nested();
  if (typeof found === 'string') return [found, ...scopesOf(found)];
  return Array.isArray(found) ? found.map(String) : [];
}

export function scopesIn({ scope, scp }: Claims): string[] {
  if (typeof scope === 'string') return scopesOf(scope);
  const list = scp ?? scope;
  return Array.isArray(list) ? list.map(String) : typeof list === 'string' ? scopesOf(list) : [];
}

export function checkScopes(scopes: readonly string[], required: readonly string[]): void {
  const missing = required.filter((scope) => !scopes.includes(scope) && !scopes.includes(shortScope(scope)));
  if (missing.length === 0) return;
  throw new AppError('INSUFFICIENT_SCOPE', `The token lacks the scope ${missing.join(' ')}`, {
    context: { required_scopes: required },
  });
}

/** Entra ID is asked for `api://<application>/mcp.use` and writes `mcp.use` into tokens for this application. */
function shortScope(scope: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(scope) ? scope.slice(scope.lastIndexOf('/') + 1) : scope;
}

/** Identifies who gave a role and by which mapping: once an admin changes that, everybody has to come in anew. */
export function mappingOf(config: Config): string {
  const { oidcIssuer, oidcClientId, oidcRequiredScopes, oidcRoleClaim, oidcRoles } = config;
  const { oidcProfileClaim, oidcProfiles, oidcUserClaim } = config;
  const rules = JSON.stringify([
    ...[oidcIssuer, oidcClientId, oidcRequiredScopes, oidcRoleClaim, oidcRoles],
    ...[oidcProfileClaim, oidcProfiles, oidcUserClaim],
  ]);
  return createHash('sha256').update(rules).digest('base64url').slice(0, 16);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
