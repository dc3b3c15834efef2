/** Finds the secrets in a connection config, to mask them in its display and in texts. */
import { hidden } from './mask.ts';
import { isInherited } from './policy.ts';

/** The parts of a connection config that contain secrets, for all transports. */
interface Secretive {
  headers?: Record<string, string>;
  env?: Record<string, string>;
  args?: string[];
  url?: string;
  base_url?: string;
  oauth?: { client_secret?: string; private_key?: string };
}

/** The config for display: names of headers, variables, flags and parameters are kept, secret values are masked. */
export function maskConfig<T extends Secretive>(config: T): T {
  const masked = { ...config };
  if (config.headers !== undefined) masked.headers = maskValues(config.headers);
  if (config.env !== undefined) masked.env = maskValues(config.env);
  if (config.args !== undefined) masked.args = config.args.map((arg, at) => maskArgument(arg, config.args?.[at - 1]));
  if (config.url !== undefined) masked.url = maskUrl(config.url);
  if (config.base_url !== undefined) masked.base_url = maskUrl(config.base_url);
  if (config.oauth !== undefined) {
    const { client_secret: secret, private_key: key } = config.oauth;
    masked.oauth = {
      ...config.oauth,
      ...(secret === undefined ? {} : { client_secret: hidden }),
      ...(key === undefined ? {} : { private_key: hidden }),
    };
  }
  return masked;
}

/**
 * Every value that must not appear in a text, of a config with its variables filled in. A variable is used to keep a
 * value out of the config, so whatever came from one is a secret, wherever it stands.
 */
export function collectSecrets(config: Secretive, variables: ReadonlyMap<string, string> = new Map()): string[] {
  const { headers = {}, env = {}, args = [], oauth = {} } = config;
  const values = [...Object.values(headers), ...Object.values(env), oauth.client_secret, oauth.private_key];
  const urls = [config.url, config.base_url].filter((url) => url !== undefined);
  const filledIn = [...variables].filter(([name]) => !isInherited(name)).map(([, value]) => value);
  const found = [
    ...values.filter((value) => value !== undefined).flatMap((value) => [value, ...credentialsIn(value)]),
    // "Bearer abc": a server's error message quotes the token alone.
    ...Object.values(headers).flatMap((value) => value.split(/\s+/).slice(1)),
    ...args.flatMap((arg, at) => secretsInArgument(arg, args[at - 1])),
    ...urls.flatMap(secretsInUrl),
    ...filledIn.flatMap((value) => (isUrl(value) ? secretsInUrl(value) : [value, ...credentialsIn(value)])),
  ];
  return [...new Set(found)].filter((secret) => secret !== '');
}

/** The URL without its user info, the values of its query, and parts of its path that look like credentials. */
export function maskUrl(url: string): string {
  const { start, user, rest, query, fragment } = splitUrl(url);
  const parameters = query?.split('&').map((pair) => (pair.includes('=') ? `${pair.split('=')[0]}=${hidden}` : hidden));
  return [
    start,
    user === undefined ? '' : `${hidden}@`,
    replaceCredentials(rest),
    parameters === undefined ? '' : `?${parameters.join('&')}`,
    fragment === undefined ? '' : `#${hidden}`,
  ].join('');
}

/** A part of the URL's query that is a credential by its name or by its looks. */
export function holdsCredential(url: string): boolean {
  const pairs = splitUrl(url).query?.split('&') ?? [];
  return pairs.some((pair) => isSecretName(pair.split('=')[0] ?? '') || credentialsIn(pair).length > 0);
}

/** Where a value in arguments of a tool is a credential by its name or by its looks; undefined if there is none. */
export function findCredential(value: unknown, path: readonly string[] = []): readonly string[] | undefined {
  if (typeof value === 'string') {
    const name = path.at(-1) ?? '';
    const isNamed = name.toLowerCase() !== 'key' && isSecretName(name) && value !== '' && !isPlaceholder(value);
    return isNamed || credentialsIn(value).length > 0 ? path : undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    // The places of a list say nothing; what the list is called does.
    const found = findCredential(inner, Array.isArray(value) ? path : [...path, name]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function secretsInUrl(url: string): string[] {
  const { user, rest, query, fragment } = splitUrl(url);
  const [name, ...password] = user?.split(':') ?? [];
  // With a password, the user name is not secret; a user name alone is often a token.
  const login = password.length > 0 ? password.join(':') : name;
  const values = query?.split('&').map((pair) => pair.slice(pair.indexOf('=') + 1)) ?? [];
  const written = [login, ...values, fragment].filter((value) => value !== undefined);
  return [...written.flatMap((value) => [value, decoded(value)]), ...credentialsIn(rest)];
}

/** Not `new URL`, because the URL may contain `${VAR}` and must keep its spelling. */
function splitUrl(url: string) {
  const [beforeFragment = '', ...fragment] = url.split('#');
  const [address = '', ...query] = beforeFragment.split('?');
  const start = /^[A-Za-z][A-Za-z0-9+.-]{0,30}:\/\//.exec(address)?.[0] ?? '';
  const slash = address.indexOf('/', start.length);
  const authority = address.slice(start.length, slash === -1 ? undefined : slash);
  const at = authority.lastIndexOf('@');
  return {
    start,
    user: start === '' || at === -1 ? undefined : authority.slice(0, at),
    rest: address.slice(start.length + (start === '' ? 0 : at + 1)),
    query: query.length === 0 ? undefined : query.join('?'),
    fragment: fragment.length === 0 ? undefined : fragment.join('#'),
  };
}

const isUrl = (text: string) => /^[A-Za-z][A-Za-z0-9+.-]{0,30}:\/\/\S+$/.test(text);

function maskArgument(argument: string, before: string | undefined): string {
  const { name, value } = splitArgument(argument, before);
  if (isReference(value)) return argument;
  const shown = isSecretName(name) && value !== '' ? hidden : isUrl(value) ? maskUrl(value) : replaceCredentials(value);
  return argument.slice(0, argument.length - value.length) + shown;
}

function secretsInArgument(argument: string, before: string | undefined): string[] {
  const { name, value } = splitArgument(argument, before);
  const words = value.split(/\s+/).slice(1);
  return [
    ...(isSecretName(name) ? [value, ...words] : []),
    ...(isUrl(value) ? secretsInUrl(value) : credentialsIn(value)),
  ];
}

/** `--name=value`, `NAME=value`, `Name: value`, and `value` after `--name`. */
function splitArgument(argument: string, before = ''): { name: string; value: string } {
  const assigned = /^(-{0,2}[A-Za-z][\w.-]{0,100})(?:=|:\s)/.exec(argument);
  if (assigned !== null) return { name: assigned[1] ?? '', value: argument.slice(assigned[0].length).trimStart() };
  if (argument.startsWith('-')) return { name: '', value: argument };
  return { name: /^--?[A-Za-z][\w.-]*$/.test(before) ? before : '', value: argument };
}

const secretWords = new Set([
  ...['token', 'tokens', 'secret', 'secrets', 'password', 'passwd', 'passphrase', 'pass', 'pwd', 'pw', 'pat', 'jwt'],
  ...['key', 'apikey', 'auth', 'authorization', 'bearer', 'credential', 'credentials', 'cookie', 'sig', 'signature'],
  ...['apitoken', 'accesstoken', 'authtoken', 'accesskey', 'secretkey', 'privatekey', 'clientsecret', 'dsn'],
]);

function isSecretName(name: string): boolean {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').split(/[^A-Za-z0-9]+/);
  return words.some((word) => secretWords.has(word.toLowerCase()));
}

const credentialCharacters = /[A-Za-z0-9_.~+-]{16,}/g;
const knownBeginnings =
  /^(?:sk-|(?:sk|pk|rk|ghp|gho|ghu|ghs|ghr|github_pat|npm|hf|ntn|lin_api|shpat|dop_v1)_|glpat-|xox[a-z]-|AKIA|AIza|eyJ)/;

/** Detects generated keys: a known prefix, or alternating letters and digits. */
function credentialsIn(text: string): string[] {
  return (text.match(credentialCharacters) ?? []).filter(isCredential);
}

function replaceCredentials(text: string): string {
  return text.replace(credentialCharacters, (word) => (isCredential(word) ? hidden : word));
}

const minTurns = 4;

function isCredential(word: string): boolean {
  const turns = word.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0;
  return turns >= minTurns || (turns > 0 && word.length >= 20 && knownBeginnings.test(word));
}

/** A word of the question that a query fills in. */
const isPlaceholder = (text: string) => /^\{\{\w+\}\}$/.test(text);

const isReference = (text: string) => /^\$\{[^}]*\}$/.test(text);

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text; // invalid percent-encoding: use the text as it is
  }
}

function maskValues(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.keys(values).map((name) => [name, hidden]));
}
