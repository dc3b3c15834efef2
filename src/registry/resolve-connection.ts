/** A stored connection with the variables of the environment put in. Pure. */
import { AppError } from '../errors.ts';
import type { JsonObject } from '../json-rpc.ts';
import { collectSecrets } from '../security/connection-secrets.ts';
import { maxSecret } from '../security/mask.ts';
import { substituteVariables } from '../security/variables.ts';
import { type Connection, urlProblem } from './server.ts';

export function resolveVariables(
  stored: Connection,
  environment: Parameters<typeof substituteVariables>[1],
): { connection: Connection; secrets: string[] } {
  const { value, missing, used } = substituteVariables<JsonObject>(stored.connection_config, environment);
  if (missing.length > 0) {
    const names = missing.map((name) => `\${${name}}`).join(', ');
    throw new AppError(
      'SERVER_CONNECTION_FAILED',
      `connection_config refers to variables that are not set in the aggregator's environment: ${names}`,
    );
  }
  const url = value.url ?? value.base_url;
  const problem = typeof url === 'string' ? urlProblem(url) : undefined;
  if (problem !== undefined) throw new AppError('SERVER_CONNECTION_FAILED', `the server's URL ${problem}`);
  const [tooLong] = [...used].find(([, text]) => text.length > maxSecret) ?? [];
  if (tooLong !== undefined) {
    throw new AppError(
      'SERVER_CONNECTION_FAILED',
      `\${${tooLong}} in connection_config may have at most ${maxSecret} characters`,
    );
  }
  return {
    connection: { ...stored, connection_config: value } as Connection,
    secrets: collectSecrets(value, used),
  };
}
