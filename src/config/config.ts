/** The configuration: read once from flags, the environment and the config file into one frozen object. */
import { readFileSync } from 'node:fs';
import { parseCommentedJson } from '../commented-json.ts';
import { AppError, describe } from '../errors.ts';
import { isLoopback } from '../loopback.ts';
import { didYouMean, suggest } from '../suggestions.ts';
import { type Setting, type SettingName, settings } from './settings.ts';

export type Config = Readonly<{
  [Name in SettingName]: (typeof settings)[Name] extends Setting<infer T> ? T : never;
}> & { readonly environment: Readonly<NodeJS.ProcessEnv> };

/** Flags override the environment, the environment overrides the config file. All errors are reported at once. */
export function loadConfig(environment: NodeJS.ProcessEnv, flags: Partial<Record<string, string>> = {}): Config {
  const problems: string[] = [];
  const fileName = flags.config ?? environment[settings.config.env];
  const fromFile = fileName === undefined ? {} : readSettings(fileName, problems);
  const values: Record<string, unknown> = {};

  for (const [name, definition] of Object.entries(settings) as [SettingName, Setting<unknown>][]) {
    const source = [
      { label: `--${flagOf(name)}`, text: flags[name] },
      { label: definition.env, text: environment[definition.env] },
      { label: fileVariableOf(definition), text: readSecret(definition, environment, problems) },
      { label: `${fileName}: settings.${name}`, text: fromFile[name] },
    ].find((candidate) => candidate.text !== undefined && candidate.text !== '');
    values[name] = definition.default;
    if (source?.text === undefined) continue;
    try {
      values[name] = definition.parse(source.text);
    } catch (error) {
      const shown = definition.secret ? 'the value' : JSON.stringify(source.text);
      problems.push(`${source.label}: ${shown} ${describe(error)}; example: ${definition.example}`);
    }
  }

  const config = Object.freeze({ ...values, environment: withoutOwnSecrets(environment) }) as Config;
  if (problems.length === 0) problems.push(...contradictions(config));
  if (problems.length > 0) throw new AppError('CONFIGURATION_INVALID', problems.join('\n'));
  return config;
}

/** Servers may be given any other variable: their connections refer to it by name. */
function withoutOwnSecrets(environment: NodeJS.ProcessEnv): Readonly<NodeJS.ProcessEnv> {
  const definitions = Object.values<Setting<unknown>>(settings);
  const own = new Set(definitions.flatMap(({ env, secret }) => (secret && env.startsWith('MCP_') ? [env] : [])));
  return Object.freeze(Object.fromEntries(Object.entries(environment).filter(([name]) => !own.has(name))));
}

/** Secrets can also be read from files, as Docker and Kubernetes provide them. */
export function fileVariableOf({ env }: Pick<Setting<unknown>, 'env'>): string {
  return `${env}_FILE`;
}

function readSecret(definition: Setting<unknown>, environment: NodeJS.ProcessEnv, problems: string[]) {
  const variable = fileVariableOf(definition);
  const file = definition.secret ? environment[variable] : undefined;
  if (file === undefined || file === '') return undefined;
  if ((environment[definition.env] ?? '') !== '') {
    problems.push(`${variable}: ${definition.env} is set as well; example: ${variable}=/run/secrets/name alone`);
    return undefined;
  }
  try {
    const content = readFileSync(file, 'utf8').trim();
    if (content !== '') return content;
    problems.push(`${variable}: ${file} is empty; example: ${variable}=/run/secrets/name`);
  } catch (error) {
    problems.push(`${variable}: ${file} cannot be read: ${describe(error)}; example: ${variable}=/run/secrets/name`);
  }
  return undefined;
}

function contradictions(config: Config): string[] {
  const problems: string[] = [];
  if (config.databaseUrl !== undefined && config.credentialKey === undefined) {
    problems.push(
      `MCP_CREDENTIAL_KEY: required with DATABASE_URL, because replicas share it; example: ${settings.credentialKey.example}`,
    );
  }
  if (config.childUser !== undefined && config.childUser.uid === process.getuid?.()) {
    problems.push('MCP_AGGREGATOR_CHILD_USER: must differ from the user that runs the aggregator; example: nobody');
  }
  if (config.anonymous !== undefined && !isLoopback(config.host)) {
    problems.push(
      `MCP_AGGREGATOR_ANONYMOUS: only allowed on a loopback address, and MCP_AGGREGATOR_HOST is ${config.host}; example: MCP_AGGREGATOR_HOST=127.0.0.1`,
    );
  }
  if (config.oidcIssuer?.startsWith('http:') && !isLoopback(new URL(config.oidcIssuer).hostname)) {
    problems.push(
      'MCP_AGGREGATOR_OIDC_ISSUER: must be https, except on this machine; example: https://login.example.com',
    );
  }
  return problems;
}

/** Variables that are no settings but look like one that is misspelt. */
export function misspeltVariables(environment: Readonly<NodeJS.ProcessEnv>): { variable: string; setting: string }[] {
  const known = Object.values(settings).flatMap((one) => [one.env, fileVariableOf(one)]);
  const others = new Set([...known, ...variablesOfCommands]);
  return Object.keys(environment).flatMap((variable) => {
    // Kubernetes sets some for a service of our name.
    if (others.has(variable) || !/^MCP_/.test(variable) || /_(SERVICE|TCP|UDP)(_|$)/.test(variable)) return [];
    const [setting] = suggest(variable, known);
    return setting === undefined ? [] : [{ variable, setting }];
  });
}

/** Read by the command line, or set for child processes. */
const variablesOfCommands = ['MCP_AGGREGATOR_URL', 'MCP_AGGREGATOR_TOKEN', 'MCP_AGGREGATOR_CHILD'];

/** Values that must never be shown: secrets as configured, and passwords in URLs. */
export function secretValues(config: Config): string[] {
  return (Object.entries(settings) as [SettingName, Setting<unknown>][]).flatMap(([name, { secret }]) => {
    const value = config[name];
    if (secret === undefined || value === undefined) return [];
    if (Buffer.isBuffer(value)) return [value.toString('base64'), value.toString('base64url'), value.toString('hex')];
    const texts = Array.isArray(value)
      ? value.flatMap((entry) => [entry, entry.slice(entry.indexOf('=') + 1)])
      : [String(value)];
    return texts.flatMap((text) => {
      if (!URL.canParse(text)) return [text];
      // The address itself is not secret.
      const { password } = new URL(text);
      return password === '' ? [] : [password, decodeURIComponent(password)];
    });
  });
}

/** `healthIntervalMs` becomes `--health-interval`, because flags are in seconds. */
export function flagOf(name: SettingName): string {
  return name.replace(/Ms$/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function readSettings(fileName: string, problems: string[]): Record<string, string> {
  let parsed: unknown;
  try {
    parsed = parseCommentedJson(readFileSync(fileName, 'utf8'));
  } catch (error) {
    problems.push(
      `${settings.config.env}: ${fileName} cannot be read as JSON: ${describe(error)}; example: servers.json`,
    );
    return {};
  }
  const found = (parsed as { settings?: unknown } | null)?.settings ?? {};
  const known = Object.entries(found).filter(([name]) => {
    if (name in settings) return true;
    problems.push(`${fileName}: settings.${name}: unknown setting${didYouMean(name, Object.keys(settings))}`);
    return false;
  });
  return Object.fromEntries(
    known.map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : String(value)]),
  );
}
