/** What an admin may set up as a connection, and the connection that a patch leads to. Pure. */
import type { z } from 'zod';
import type { Config } from '../config/config.ts';
import { type Problem, ValidationError } from '../errors.ts';
import { maskConfig } from '../security/connection-secrets.ts';
import { hidden } from '../security/mask.ts';
import { referencesTo } from '../security/variables.ts';
import { toProblems } from './problems.ts';
import { type Connection, connectionConfigs, plainHttpProblem, type ServerPatch } from './server.ts';

/** Where a connection comes from. `local`: from the config file, or from someone who can read the data directory. */
export type ConnectionOrigin = 'local' | 'network';

export function requireAllowed(
  { transport_type, connection_config: config }: Connection,
  { stdio, allowHttp }: Pick<Config, 'stdio' | 'allowHttp'>,
  origin: ConnectionOrigin,
): void {
  const problems: Problem[] = [];
  const refuse = (loc: string[], msg: string) => problems.push({ loc: ['body', ...loc], msg, type: 'value_error' });
  if (transport_type === 'STDIO' && stdio === 'deny') {
    refuse(['transport_type'], 'STDIO servers are disabled (MCP_AGGREGATOR_STDIO=deny)');
  }
  for (const [field, url] of Object.entries(config).filter(([name]) => name === 'url' || name === 'base_url')) {
    const problem = plainHttpProblem(String(url), allowHttp);
    if (problem !== undefined) refuse(['connection_config', field], `${field} ${problem}`);
  }
  // It would run any program, also where STDIO servers are disabled.
  if (origin === 'network' && referencesTo(config, 'command').length > 0) {
    refuse(
      ['connection_config'],
      '${command:…} can be set in the config file or by the command line on the same host only',
    );
  }
  if (problems.length > 0) throw new ValidationError(problems);
}

/** The connection after the patch, or undefined when it stays the same. */
export function patchedConnection(
  current: Connection,
  patch: ServerPatch,
  origin: ConnectionOrigin,
): Connection | undefined {
  if (patch.transport_type === undefined && patch.connection_config === undefined) return undefined;
  const transport = patch.transport_type ?? current.transport_type;
  const schema: z.ZodType = connectionConfigs[transport];
  const parsed = schema.safeParse(patch.connection_config ?? current.connection_config);
  if (!parsed.success) throw new ValidationError(toProblems(parsed.error, ['body', 'connection_config']));
  const connection = { transport_type: transport, connection_config: parsed.data } as Connection;
  const isKept = origin === 'local' || isSameTarget(current, connection);
  const config = isKept
    ? withSecrets(parsed.data, maskConfig(current.connection_config), current.connection_config)
    : parsed.data;
  const masked = findMasked(config, ['body', 'connection_config']);
  if (masked.length > 0) throw new ValidationError(masked);
  return { ...connection, connection_config: config } as Connection;
}

/** Masked secrets must not be sent to another place by a user who cannot read them. */
function isSameTarget(before: Connection, after: Connection): boolean {
  return targetOf(before) === targetOf(after);
}

function targetOf({ transport_type, connection_config: config }: Connection): string {
  if ('command' in config) return JSON.stringify([transport_type, config.command, config.args ?? []]);
  const url = 'url' in config ? config.url : config.base_url;
  // The secret of an OAuth client goes to its issuer.
  return JSON.stringify([URL.canParse(url) ? new URL(url).origin : url, config.oauth?.issuer]);
}

/** Who changes a config begins with the one that is shown: what is still masked there stays as it was. */
function withSecrets(given: unknown, shown: unknown, stored: unknown): unknown {
  if (typeof given === 'string') return given === shown && given.includes(hidden) ? stored : given;
  if (typeof given !== 'object' || given === null) return given;
  const at = (value: unknown, key: string) =>
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
  const entries = Object.entries(given).map(([key, inner]) => [
    key,
    withSecrets(inner, at(shown, key), at(stored, key)),
  ]);
  return Array.isArray(given) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries);
}

/** What is masked and was not in its place before would be stored as asterisks. */
function findMasked(value: unknown, loc: (string | number)[]): Problem[] {
  if (typeof value === 'string') {
    const msg = `contains "${hidden}" in place of a secret; send the complete value`;
    return value.includes(hidden) ? [{ loc, msg, type: 'value_error' }] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => findMasked(inner, [...loc, key]));
}
