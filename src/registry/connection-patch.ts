/** The connection that a patch by an admin leads to, checked as at the registration. Pure. */
import type { z } from 'zod';
import type { Config } from '../config/config.ts';
import { type Problem, ValidationError } from '../errors.ts';
import { hidden } from '../security/mask.ts';
import { toProblems } from './problems.ts';
import { type Connection, connectionConfigs, type ServerPatch } from './server.ts';

export function requireAllowed(transport: Connection['transport_type'], { stdio }: Config): void {
  if (transport !== 'STDIO' || stdio === 'allow') return;
  const msg = 'STDIO servers are disabled (MCP_AGGREGATOR_STDIO=deny)';
  throw new ValidationError([{ loc: ['body', 'transport_type'], msg, type: 'value_error' }]);
}

/** The connection after the patch, or undefined when it stays the same. */
export function patchedConnection(current: Connection, patch: ServerPatch): Connection | undefined {
  if (patch.transport_type === undefined && patch.connection_config === undefined) return undefined;
  const transport = patch.transport_type ?? current.transport_type;
  const schema: z.ZodType = connectionConfigs[transport];
  const parsed = schema.safeParse(patch.connection_config ?? current.connection_config);
  if (!parsed.success) throw new ValidationError(toProblems(parsed.error, ['body', 'connection_config']));
  const masked = findMasked(parsed.data, ['body', 'connection_config']);
  if (masked.length > 0) throw new ValidationError(masked);
  return { transport_type: transport, connection_config: parsed.data } as Connection;
}

/** Whoever changes a config begins with the one that is shown, and would store its asterisks. */
function findMasked(value: unknown, loc: (string | number)[]): Problem[] {
  if (typeof value === 'string') {
    const msg = `contains "${hidden}" in place of a secret; send the complete value`;
    return value.includes(hidden) ? [{ loc, msg, type: 'value_error' }] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => findMasked(inner, [...loc, key]));
}
