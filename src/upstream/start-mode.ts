/** When a server is started: with the aggregator, or by the first call that needs it. Pure. */
import type { Config } from '../config/config.ts';
import type { Server } from '../registry/registry.ts';

export function startsOnDemand(
  { options, transport_type }: Pick<Server, 'options' | 'transport_type'>,
  { idleTimeoutMs, stdio }: Pick<Config, 'idleTimeoutMs' | 'stdio'>,
): boolean {
  // What may not be started is tried at once, so that its record says so.
  if (idleTimeoutMs === 0 || (transport_type === 'STDIO' && stdio === 'deny')) return false;
  // A child process costs memory all the time; a connection over HTTP costs next to nothing.
  const { start = transport_type === 'STDIO' ? 'on_demand' : 'always' } = options;
  return start === 'on_demand';
}

/** Its tools are known, so that it can be listed and searched without being started. */
export const isDiscovered = ({ discovered_at }: Pick<Server, 'discovered_at'>): boolean => discovered_at !== null;
