/** Which keys a server asks its users for, and where they go. Pure. */
import { AppError } from '../errors.ts';
import type { KeyTarget } from '../security/user-keys.ts';
import { type Connection, userKeysIn } from './server.ts';

export function toKeyTarget(serverId: string, connection: Connection): KeyTarget {
  return { serverId, place: placeOf(connection), names: userKeysIn(connection.connection_config) };
}

/**
 * Users entrust a key to a host: an admin who repoints the server must not get it sent elsewhere. Who may set a command
 * can read the memory of the aggregator anyway.
 */
function placeOf({ connection_config: config }: Connection): string {
  if ('command' in config) return 'STDIO';
  const url = 'url' in config ? config.url : config.base_url;
  return URL.canParse(url) ? new URL(url).origin : url;
}

/** Where the user is known, the address of the page for it is added on the way out. */
export function keyRequired(server: string, missing: readonly string[]): AppError {
  const what = `key required: enter ${missing.length === 1 ? 'your' : 'your own'} ${missing.join(', ')}`;
  return new AppError('KEY_REQUIRED', `${what} with: mcp-aggregator key set ${server}`, {
    context: { server, keys: missing },
  });
}
