/** Which of a server's log messages reach which client. */
import type { JsonObject } from '../json-rpc.ts';
import { logLevels } from '../upstream/log-level.ts';
import type { Peer } from './peer.ts';

export const isLogLevel = (level: unknown): level is string => typeof level === 'string' && logLevels.includes(level);

/** The new era hears no log messages unless it named a level; the old one leaves it to the server until one is named. */
export function wants({ era, client }: Peer, method: string, { level }: JsonObject): boolean {
  if (method !== 'notifications/message') return true;
  if (client.logLevel === undefined) return era === 'legacy';
  return typeof level === 'string' && logLevels.indexOf(level) >= logLevels.indexOf(client.logLevel);
}
