/** Validates the rows of a backup with the schemas of the API, so that an import stores only valid rows. */
import { z } from 'zod';
import { profileDefinition, profileName } from '../catalog/profile.ts';
import { AppError } from '../errors.ts';
import { grantContextOf } from '../oauth/account-checks.ts';
import { clientContextOf } from '../oauth/flow.ts';
import { accountPrefix } from '../oauth/identity-claims.ts';
import { contextOf } from '../oauth/token-cache.ts';
import { rulesKey } from '../query/rule-store.ts';
import { serverRulesSchema } from '../query/server-rules.ts';
import { toProblems } from '../registry/problems.ts';
import { registration, userKeyName } from '../registry/server.ts';
import type { Vault } from '../security/credentials.ts';
import { userKeyContextOf } from '../security/user-keys.ts';
import { skillDefinition, skillId } from '../skills/skill-store.ts';
import { defaultSkills } from '../skills/taxonomy.ts';
import type { BackupRows, LeftOut } from '../store/backup.ts';
import { newToken } from './routes/tokens.ts';

type GivenRows = Record<keyof BackupRows, readonly unknown[]>;

const time = z.iso.datetime({ offset: true });
const label = z.string().max(2_048);

const server = z.object({
  id: z.uuid(),
  connection_config: z.object({ sealed: z.string() }),
  auto_connect: z.boolean(),
  desired: z.enum(['connected', 'disconnected']),
  origin: z.enum(['api', 'config', 'import']),
  registered_at: time,
});

const token = z.object({
  ...newToken.shape,
  id: z.string().regex(/^[0-9a-f]{16}$/, 'must be 16 hexadecimal digits'),
  hash: z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hexadecimal digits'),
  servers: newToken.shape.servers.transform((servers) => servers ?? null),
  profile: newToken.shape.profile.transform((profile) => profile ?? null),
  expires_at: newToken.shape.expires_at.transform((at) => at ?? null),
  created_at: time,
  last_used_at: time.nullable(),
  created_by: z.string().max(255),
  owner: z.string().max(255).nullable().default(null),
  origin: z.enum(['api', 'sign_in']).default('api'),
});

const profile = z.object({ name: profileName, definition: profileDefinition, created_at: time, updated_at: time });

const skill = z
  .object({
    ...skillDefinition.shape,
    id: skillId,
    origin: z.enum(['builtin', 'custom']),
    created_at: time,
    updated_at: time,
  })
  // SKL-004: of another version of the taxonomy.
  .transform((row, context) => {
    if (row.origin === 'custom') return row;
    const present = defaultSkills.find(({ id }) => id === row.id);
    if (present !== undefined) return { ...row, ...present };
    context.addIssue('is no longer a built-in skill');
    return z.NEVER;
  });

const setting = z.object({
  key: z.literal(rulesKey, { error: 'is not a setting that a backup contains' }),
  value: serverRulesSchema,
});

const account = z.object({
  id: z.string().startsWith(accountPrefix).max(255),
  issuer: label,
  name: z.string().max(1_024),
  role: newToken.shape.role.unwrap(),
  profile: z.string().max(255).nullable(),
  rules: z.string().max(64),
  sealed: z.string().nullable(),
  created_at: time,
  seen_at: time,
  checked_at: time.nullable(),
  ended_at: time.nullable(),
  lease_until: time.nullable(),
  updated_at: time,
});

const oauthClient = z.object({
  server_id: z.uuid(),
  issuer: label,
  redirect_uri: label,
  sealed: z.string(),
  expires_at: time.nullable(),
});

const oauthLogin = z.object({
  server_id: z.uuid(),
  principal: z.string().max(255),
  state: z.enum(['active', 'required', 'expired']),
  issuer: label.nullable(),
  sealed: z.string().nullable(),
  scope: z.string().max(8_192).nullable(),
  challenge: z.string().max(32_768).refine(isJson, 'is not JSON').nullable(),
  expires_at: time.nullable(),
  lease_until: time.nullable(),
  updated_at: time,
});

const userKey = z.object({
  server_id: z.uuid(),
  principal: z.string().min(1).max(255),
  name: userKeyName,
  sealed: z.string(),
  updated_at: time,
});

/** An invalid row is reported and skipped; the others are imported. */
export function checkBackupRows(given: GivenRows, vault: Vault): { rows: BackupRows; leftOut: LeftOut[] } {
  const leftOut: LeftOut[] = [];
  function take<Row>(kind: keyof BackupRows, check: (row: unknown) => Row): Row[] {
    return given[kind].flatMap((row, place) => {
      try {
        requireNoNul(row);
        return [check(row)];
      } catch (error) {
        if (!(error instanceof z.ZodError || error instanceof AppError)) throw error;
        leftOut.push({ kind, name: nameOf(row) ?? `number ${place + 1}`, reason: reasonOf(error) });
        return [];
      }
    });
  }

  const rows: BackupRows = {
    servers: take('servers', (row) => checkServer(row, vault)),
    tokens: take('tokens', (row) => valid(token, row)),
    profiles: take('profiles', (row) => valid(profile, row)),
    skills: take('skills', (row) => valid(skill, row)),
    settings: take('settings', (row) => valid(setting, row)),
    accounts: take('accounts', (row) => {
      const person = valid(account, row);
      if (person.sealed !== null) vault.open(person.sealed, grantContextOf(person.id));
      return person;
    }),
    oauth_clients: take('oauth_clients', (row) => {
      const client = valid(oauthClient, row);
      vault.open(client.sealed, clientContextOf(client.server_id, client.issuer));
      return client;
    }),
    oauth_logins: take('oauth_logins', (row) => {
      const login = valid(oauthLogin, row);
      if (login.sealed !== null) vault.open(login.sealed, contextOf(login));
      return login;
    }),
    user_keys: take('user_keys', (row) => {
      const key = valid(userKey, row);
      vault.open(key.sealed, userKeyContextOf(key));
      return key;
    }),
  };
  return { rows, leftOut };
}

/** Validates a server like a registration, including its sealed credentials. */
function checkServer(row: unknown, vault: Vault): BackupRows['servers'][number] {
  const { id, connection_config, desired, origin, registered_at } = valid(server, row);
  const { name, description, transport_type, health_check_url, auto_connect, options, tool_overrides } = row as Record<
    string,
    unknown
  >;
  const given = { name, description, transport_type, health_check_url, auto_connect, options, tool_overrides };
  const registered = valid(registration, { ...given, connection_config: vault.open(connection_config.sealed, id) });
  return {
    id,
    name: registered.name,
    description: registered.description ?? null,
    transport_type: registered.transport_type,
    connection_config,
    health_check_url: registered.health_check_url ?? null,
    auto_connect: registered.auto_connect ?? true,
    desired,
    options: registered.options ?? {},
    tool_overrides: registered.tool_overrides ?? {},
    origin,
    registered_at,
  };
}

/** Includes the input, so that the reason can distinguish missing from invalid values. */
const valid = <Schema extends z.ZodType>(schema: Schema, row: unknown): z.output<Schema> =>
  schema.parse(row, { reportInput: true });

/** PostgreSQL cannot store NUL characters; one of them would fail the complete import. */
function requireNoNul(row: unknown): void {
  if (JSON.stringify(row)?.includes('\\u0000')) {
    throw new AppError('VALIDATION_ERROR', 'must not contain a NUL character');
  }
}

function nameOf(row: unknown): string | undefined {
  if (typeof row !== 'object' || row === null) return undefined;
  const { name, id, key, issuer, server_id } = row as Record<string, unknown>;
  const found = [name, id, key, issuer, server_id].find((one) => typeof one === 'string' && one !== '');
  return typeof found === 'string' ? found.slice(0, 100) : undefined;
}

function reasonOf(error: z.ZodError | AppError): string {
  if (error instanceof AppError) return error.message;
  const [first, ...others] = toProblems(error, []);
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return `${first?.loc.join('.') ?? ''}: ${first?.msg ?? 'is not valid'}${more}`.replace(/^: /, '');
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // the question itself
  }
}
