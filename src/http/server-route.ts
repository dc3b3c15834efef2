/** What the routes about one server share: path, parameter, answer where it does not exist, record in the audit. */
import { z } from 'zod';
import type { Server } from '../registry/registry.ts';
import type { Audit } from '../security/audit.ts';
import type { Principal } from '../security/auth.ts';

export const serversPath = '/api/v1/aggregator/servers';
export const byServer = z.object({ id: z.string().min(1).describe("the server's id or name") });
export const serverNotFound = { description: 'Server not found' };

/** Resolves when the record is stored: what an admin does is acknowledged afterwards. */
export function recordServerEvent(
  audit: Audit,
  event: string,
  server: Server,
  { principal, address }: { principal: Principal; address: string },
  details?: Record<string, unknown>,
): Promise<void> {
  return audit.recordNow({
    event,
    actor: principal.name,
    ip_address: address,
    server_id: server.id,
    server_name: server.name,
    details,
  });
}
