/** A stored connection with everything that it refers to put in: variables, the env file, the keychain, commands. */
import { readFileSync, statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { AppError, describe } from '../errors.ts';
import type { JsonObject } from '../json-rpc.ts';
import { collectSecrets } from '../security/connection-secrets.ts';
import { maxSecret } from '../security/mask.ts';
import { type Reference, referencesTo, substituteVariables } from '../security/variables.ts';
import { type Connection, plainHttpProblem, userKeysIn } from './server.ts';

/** Where references lead. Both reject with the reason, and `keychain` resolves with undefined for an unknown name. */
export interface SecretSources {
  keychain(name: string): Promise<string | undefined>;
  command(line: string): Promise<string>;
}

type Found = (reference: Reference) => string | undefined;

export async function resolveReferences(
  stored: Connection,
  environment: Readonly<NodeJS.ProcessEnv>,
  sources: SecretSources,
  allowHttp: readonly string[] = [],
  userKeys: Readonly<Record<string, string>> = {},
): Promise<ReturnType<typeof fillIn>> {
  const config = stored.connection_config;
  const [secrets, outputs] = await Promise.all([
    askEach(referencesTo(config, 'keychain'), sources.keychain),
    askEach(referencesTo(config, 'command'), sources.command),
  ]);
  const from = { environment, keychain: secrets, command: outputs, user: userKeys };
  return fillIn(stored, ({ source, name }) => own(from[source], name), allowHttp);
}

/** Nothing that every object has, such as `constructor`. */
const own = (values: Readonly<Record<string, string | undefined>>, name: string) =>
  Object.hasOwn(values, name) ? values[name] : undefined;

async function askEach(
  names: readonly string[],
  ask: (name: string) => Promise<string | undefined>,
): Promise<Record<string, string | undefined>> {
  const entries = names.map(async (name) => {
    try {
      return [name, await ask(name)] as const;
    } catch (error) {
      throw failed(`connection_config refers to a secret that cannot be read: ${describe(error)}`);
    }
  });
  return Object.fromEntries(await Promise.all(entries));
}

export function fillIn(
  stored: Connection,
  find: Found,
  allowHttp: readonly string[] = [],
): { connection: Connection; secrets: string[]; userSecrets: string[] } {
  const { value: filled, missing, used } = substituteVariables<JsonObject>(stored.connection_config, find);
  if (missing.length > 0) throw failed(explainMissing(missing));
  const url = filled.url ?? filled.base_url;
  const problem = typeof url === 'string' ? plainHttpProblem(url, allowHttp) : undefined;
  if (problem !== undefined) throw failed(`the server's URL ${problem}`);
  const [tooLong] = [...used].find(([, text]) => text.length > maxSecret) ?? [];
  if (tooLong !== undefined) {
    throw failed(`\${${tooLong}} in connection_config may have at most ${maxSecret} characters`);
  }
  const connection = withEnvFile({ ...stored, connection_config: filled } as Connection);
  const all = collectSecrets(connection.connection_config, used);
  const shared = userKeysIn(stored.connection_config).length === 0 ? all : secretsWithoutUser(stored, find);
  return { connection, secrets: shared, userSecrets: all.filter((secret) => !shared.includes(secret)) };
}

/** Secrets that are the same for all users. What a user entered is masked in answers to this user only. */
function secretsWithoutUser(stored: Connection, find: Found): string[] {
  const withoutUser = (reference: Reference) => (reference.source === 'user' ? undefined : find(reference));
  const { value, used } = substituteVariables<JsonObject>(stored.connection_config, withoutUser);
  const { connection_config: config } = withEnvFile({ ...stored, connection_config: value } as Connection);
  return collectSecrets(config, used).filter((secret) => userKeysIn([secret]).length === 0);
}

function explainMissing(missing: readonly Reference[]): string {
  const variables = missing.filter(({ source }) => source === 'environment').map(({ name }) => `\${${name}}`);
  const secrets = missing.filter(({ source }) => source === 'keychain');
  return [
    ...(variables.length === 0
      ? []
      : [
          `connection_config refers to variables that are not set in the aggregator's environment: ${variables.join(', ')}`,
        ]),
    ...secrets.map(
      ({ name }) => `the keychain has no secret "${name}"; store it with: mcp-aggregator secret set ${name}`,
    ),
  ].join('; ');
}

/** What the config itself sets wins. */
function withEnvFile(connection: Connection): Connection {
  if (connection.transport_type !== 'STDIO' || connection.connection_config.env_file === undefined) return connection;
  const { env_file: file, ...config } = connection.connection_config;
  if (!isAbsolute(file) && config.cwd === undefined) {
    throw failed(`env_file "${file}" must be an absolute path, or cwd must be set`);
  }
  return {
    ...connection,
    connection_config: { ...config, env: { ...readVariables(resolve(config.cwd ?? '', file)), ...config.env } },
  };
}

const maxEnvFileBytes = 1_048_576;

function readVariables(file: string): Record<string, string> {
  try {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (stats === undefined) throw new Error(`there is no file "${file}"`);
    if (!stats.isFile() || stats.size > maxEnvFileBytes)
      throw new Error(`it is no regular file of at most ${maxEnvFileBytes} bytes`);
    // A file of Windows may begin with a byte order mark.
    return parseEnv(readFileSync(file, 'utf8').replace(/^\uFEFF/, '')) as Record<string, string>;
  } catch (error) {
    throw failed(`env_file cannot be read: ${describe(error)}`);
  }
}

const failed = (problem: string) => new AppError('SERVER_CONNECTION_FAILED', problem);
