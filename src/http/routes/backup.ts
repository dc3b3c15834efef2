/** Export and import of the configuration, and rotation of the key that seals its credentials. */
import { z } from 'zod';
import type { Changes } from '../../changes.ts';
import { AppError } from '../../errors.ts';
import { transportTypes } from '../../registry/server.ts';
import type { Audit } from '../../security/audit.ts';
import type { Vault } from '../../security/credentials.ts';
import type { Resealer } from '../../security/reseal.ts';
import { findBackup, upsertBackup } from '../../store/backup.ts';
import type { Database } from '../../store/database.ts';
import { checkBackupRows } from '../backup-rows.ts';
import { type AnyRoute, route } from '../route.ts';

export interface BackupRouteDependencies {
  db: Database;
  maxServers: number;
  keySource: 'file' | 'variable';
  vault: Vault;
  resealer: Resealer;
  audit: Audit;
  changes: Changes;
}

const time = z.iso.datetime({ offset: true });
const json = z.record(z.string(), z.unknown());
const backupFormat = 'mcp-aggregator backup';

const backupView = z.object({
  format: z.literal(backupFormat),
  version: z.literal(1),
  created_at: time,
  key_id: z.string().describe('fingerprint of the key that opens the sealed credentials; it does not reveal the key'),
  servers: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      description: z.string().nullable(),
      transport_type: z.enum(transportTypes),
      connection_config: z.object({ sealed: z.string() }),
      health_check_url: z.string().nullable(),
      auto_connect: z.boolean(),
      desired: z.enum(['connected', 'disconnected']),
      options: json,
      tool_overrides: json.optional(),
      origin: z.enum(['api', 'config', 'import']),
      registered_at: time,
    }),
  ),
  tokens: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      hash: z.string(),
      role: z.enum(['admin', 'caller', 'viewer']),
      servers: z.array(z.string()).nullable(),
      profile: z.string().nullable(),
      created_at: time,
      last_used_at: time.nullable(),
      expires_at: time.nullable(),
      created_by: z.string(),
      owner: z.string().nullable().optional(),
      origin: z.enum(['api', 'sign_in']).optional(),
    }),
  ),
  profiles: z.array(z.object({ name: z.string(), definition: json, created_at: time, updated_at: time })),
  skills: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      description: z.string(),
      examples: z.array(z.string()),
      origin: z.enum(['builtin', 'custom']),
      created_at: time,
      updated_at: time,
    }),
  ),
  settings: z.array(z.object({ key: z.string(), value: z.unknown() })),
  accounts: z
    .array(
      z.object({
        id: z.string(),
        issuer: z.string(),
        name: z.string(),
        role: z.enum(['admin', 'caller', 'viewer']),
        profile: z.string().nullable(),
        rules: z.string(),
        sealed: z.string().nullable(),
        created_at: time,
        seen_at: time,
        checked_at: time.nullable(),
        ended_at: time.nullable(),
        lease_until: time.nullable(),
        updated_at: time,
      }),
    )
    .default([]),
  oauth_clients: z
    .array(
      z.object({
        server_id: z.string(),
        issuer: z.string(),
        redirect_uri: z.string(),
        sealed: z.string(),
        expires_at: time.nullable(),
      }),
    )
    .default([]),
  oauth_logins: z
    .array(
      z.object({
        server_id: z.string(),
        principal: z.string(),
        state: z.enum(['active', 'required', 'expired']),
        issuer: z.string().nullable(),
        sealed: z.string().nullable(),
        scope: z.string().nullable(),
        challenge: z.string().nullable(),
        expires_at: time.nullable(),
        lease_until: time.nullable(),
        updated_at: time,
      }),
    )
    .default([]),
  user_keys: z
    .array(
      z.object({
        server_id: z.string(),
        principal: z.string(),
        name: z.string(),
        sealed: z.string(),
        updated_at: time,
      }),
    )
    .default([]),
});

/** Rows are validated one by one in `checkBackupRows`, so that an invalid row does not block the others. */
const rowsGiven = z.array(z.unknown()).max(100_000);
const backupBody = backupView.extend({
  servers: rowsGiven,
  tokens: rowsGiven,
  profiles: rowsGiven,
  skills: rowsGiven,
  settings: rowsGiven,
  accounts: rowsGiven.default([]),
  oauth_clients: rowsGiven.default([]),
  oauth_logins: rowsGiven.default([]),
  user_keys: rowsGiven.default([]),
});

const sealedServer = z.object({
  id: z.string(),
  name: z.string(),
  connection_config: z.object({ sealed: z.string() }),
});

const resealView = z.object({
  key_id: z.string(),
  previous_key_id: z.string().nullable(),
  current: z.int().describe('sealed with the current key'),
  resealed: z.int().describe('of those, by this request'),
  left: z.int().describe('changed during the request; repeat it'),
  unreadable: z.array(z.string()).describe('sealed with neither key or not sealed; left unchanged'),
  previous_was_used: z.boolean().describe('false: the previous key is the next one, or unused'),
  key_source: z.enum(['file', 'variable']).describe('where the current key comes from'),
});

export function backupRoutes(deps: BackupRouteDependencies): AnyRoute[] {
  const { db, maxServers, vault, resealer, audit, changes, keySource: key_source } = deps;
  const path = '/api/v1/aggregator/backup';
  const tag = 'backup';

  return [
    route({
      method: 'GET',
      path,
      tag,
      summary: 'Export the configuration: servers with sealed credentials, token hashes, profiles, skills, rules',
      role: 'admin',
      unbound: true,
      answers: {
        200: {
          description: 'The configuration; keep it secret. It can be imported wherever its key is configured',
          schema: backupView,
        },
      },
      async handle({ principal, address }) {
        const rows = await findBackup(db);
        await audit.recordNow({ event: 'backup.exported', actor: principal.name, ip_address: address });
        const created_at = new Date().toISOString();
        return { format: backupFormat, version: 1, created_at, key_id: vault.keyIds.current, ...rows };
      },
    }),

    route({
      method: 'POST',
      path,
      tag,
      summary: 'Import a configuration; entries with the same ID are replaced, nothing is removed',
      role: 'admin',
      unbound: true,
      body: backupBody,
      answers: {
        200: {
          description: 'The imported entries',
          schema: z.object({
            servers: z.int(),
            tokens: z.int(),
            profiles: z.int(),
            skills: z.int(),
            settings: z.int(),
            conflicts: z.array(z.string()).describe('servers that were skipped because another server has the name'),
            left_out: z
              .array(z.object({ kind: z.string(), name: z.string(), reason: z.string() }))
              .describe('rows that were skipped because they are invalid'),
          }),
        },
        409: { description: 'The credentials are sealed with a key that is not configured' },
      },
      async handle({ body, principal, address }) {
        const { format: _format, version: _version, created_at: _at, key_id, ...given } = body;
        requireKey(vault, given.servers, key_id);
        const { rows, leftOut } = checkBackupRows(given, vault);
        const { conflicts, leftOut: notStored } = await upsertBackup(db, rows, { maxServers });
        await changes.publishReplacedStore();
        const left_out = [...leftOut, ...notStored];
        const full = notStored.filter(({ kind }) => kind === 'servers').length;
        const taken = {
          servers: rows.servers.length - conflicts.length - full,
          tokens: rows.tokens.length,
          profiles: rows.profiles.length,
          skills: rows.skills.length,
          settings: rows.settings.length,
        };
        const details = { ...taken, conflicts, left_out };
        await audit.recordNow({ event: 'backup.imported', actor: principal.name, ip_address: address, details });
        return details;
      },
    }),

    route({
      method: 'POST',
      path: '/api/v1/aggregator/credentials/reseal',
      tag,
      summary: 'Seal all credentials with the current key; when none are left, the previous key can be removed',
      role: 'admin',
      unbound: true,
      answers: { 200: { description: 'The progress', schema: resealView } },
      async handle({ principal, address }) {
        const { previousWasUsed: previous_was_used, ...report } = await resealer.run();
        const { resealed, left, unreadable } = report;
        const details = { resealed, left, unreadable: unreadable.length };
        await audit.recordNow({ event: 'credentials.resealed', actor: principal.name, ip_address: address, details });
        return {
          key_id: vault.keyIds.current,
          previous_key_id: vault.keyIds.previous ?? null,
          previous_was_used,
          key_source,
          ...report,
        };
      },
    }),
  ];
}

/** Checked before anything is written: an import with the wrong key would leave servers that cannot connect. */
function requireKey(vault: Vault, servers: readonly unknown[], keyId: string): void {
  const { current, previous } = vault.keyIds;
  if (keyId === current || keyId === previous) return;
  for (const row of servers) {
    const parsed = sealedServer.safeParse(row);
    if (!parsed.success) continue;
    const { id, name, connection_config } = parsed.data;
    try {
      vault.open(connection_config.sealed, id);
    } catch (cause) {
      if (!(cause instanceof AppError)) throw cause;
      throw new AppError(
        'SERVER_STATE_CONFLICT',
        `The credentials of ${name} cannot be opened: the backup was made with key ${keyId}; set that key as ` +
          'MCP_CREDENTIAL_KEY, or as MCP_CREDENTIAL_KEY_PREVIOUS together with a new one',
        { cause },
      );
    }
  }
}
