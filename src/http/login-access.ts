/** What the REST calls and the pages for logins share: who may log in to which server, and the record of it. */
import { AppError } from '../errors.ts';
import { isPerPrincipal } from '../oauth/login-target.ts';
import type { Server } from '../registry/registry.ts';
import type { Audit } from '../security/audit.ts';
import type { Principal } from '../security/auth.ts';

/** A shared login requires an admin; callers may create their own. */
export function mayLogIn(server: Server, principal: Principal): void {
  if (principal.role === 'admin' || (isPerPrincipal(server) && principal.role === 'caller')) return;
  throw new AppError(
    'FORBIDDEN',
    isPerPrincipal(server)
      ? `Logging in requires the role caller; ${principal.name} has the role ${principal.role}`
      : `The login to ${server.name} is shared by all callers and requires an admin; ${principal.name} has the role ${principal.role}`,
  );
}

export function recordLogin(
  audit: Audit,
  event: 'server.login' | 'server.logout',
  server: Server,
  { principal, address }: { principal: Principal; address: string },
) {
  return audit.recordNow({
    event,
    actor: principal.name,
    ip_address: address,
    server_id: server.id,
    server_name: server.name,
    details: { credentials: isPerPrincipal(server) ? 'per_principal' : 'shared' },
  });
}
