/** What the REST calls and the page for keys of users share: who may enter one, what is accepted, and the record of it. */
import { AppError, ValidationError } from '../errors.ts';
import type { AccountChecks } from '../oauth/account-checks.ts';
import { accountPrefix } from '../oauth/identity-claims.ts';
import type { Registry, Server } from '../registry/registry.ts';
import { toKeyTarget } from '../registry/user-key-target.ts';
import type { Audit } from '../security/audit.ts';
import type { Principal } from '../security/auth.ts';
import { requireRole, userOf } from '../security/policy.ts';
import type { KeyTarget, UserKeys } from '../security/user-keys.ts';
import { didYouMean } from '../suggestions.ts';

export interface KeyEntryDependencies {
  registry: Registry;
  userKeys: UserKeys;
  checks: AccountChecks;
  audit: Audit;
}

interface Visitor {
  principal: Principal;
  address: string;
}

export const maxKeyChars = 16_384;

/** The keys that a server asks its users for. Throws where it asks for none. */
export function requireKeyTarget({ registry }: Pick<KeyEntryDependencies, 'registry'>, server: Server): KeyTarget {
  if (server.user_keys.length === 0) {
    const how = 'refer to one in its headers or env: $' + '{user:NAME}';
    throw new AppError('SERVER_STATE_CONFLICT', `${server.name} asks its users for no keys; an admin can ${how}`);
  }
  return toKeyTarget(server.id, registry.openConnection(server.id));
}

export async function enterKey(
  deps: KeyEntryDependencies,
  server: Server,
  { name, value }: { name: string; value: string },
  { principal, address }: Visitor,
): Promise<void> {
  requireRole(principal, 'caller');
  const target = requireKeyTarget(deps, server);
  requireName(target, server, name);
  const problem = problemOf(value, target);
  if (problem !== undefined)
    throw new ValidationError([{ loc: ['body', 'value'], msg: `${name} ${problem}`, type: 'value_error' }]);
  // It ends with the account, also of a person who never signed in here.
  if (principal.id.startsWith(accountPrefix)) await deps.checks.remember(principal);
  await deps.userKeys.set(target, userOf(principal), name, value);
  await recordKey(deps.audit, 'key.entered', server, name, { principal, address });
}

export async function removeKey(
  deps: KeyEntryDependencies,
  server: Server,
  name: string,
  { principal, address }: Visitor,
): Promise<void> {
  if (!(await deps.userKeys.remove(server.id, userOf(principal), name)))
    throw new AppError('NOT_FOUND', `You have entered no ${name} for ${server.name}`);
  await recordKey(deps.audit, 'key.removed', server, name, { principal, address });
}

function requireName({ names }: KeyTarget, server: Server, name: string): void {
  if (names.includes(name)) return;
  const near = didYouMean(name, names) || `. It asks for: ${names.join(', ')}`;
  throw new AppError('NOT_FOUND', `${server.name} asks for no ${name}${near}`);
}

/** A header carries printable characters only; the environment everything but NUL. */
function problemOf(value: string, { place }: KeyTarget): string | undefined {
  if (value === '' || value.trim() !== value) return 'must not be empty, nor begin or end with a space';
  if (place === 'STDIO') return value.includes('\0') ? 'must not contain a NUL character' : undefined;
  return /^[\x20-\x7e]*$/.test(value) ? undefined : 'must contain printable ASCII characters only';
}

function recordKey(
  audit: Audit,
  event: 'key.entered' | 'key.removed',
  server: Server,
  name: string,
  { principal, address }: Visitor,
) {
  return audit.recordNow({
    event,
    actor: principal.name,
    ip_address: address,
    server_id: server.id,
    server_name: server.name,
    details: { key: name },
  });
}
