const hidden = '***';
/** Shorter values hide nothing and would riddle every text with asterisks. */
const shortestSecret = 4;

/** The parts of a connection config that hold secrets, whatever the transport. */
interface Secretive {
  headers?: Record<string, string>;
  env?: Record<string, string>;
  oauth?: { client_secret?: string; private_key?: string };
}

/** The config as it may be shown: names of headers and variables stay, their values go. */
export function maskConfig<T extends Secretive>(config: T): T {
  const masked = { ...config };
  if (config.headers !== undefined) masked.headers = maskValues(config.headers);
  if (config.env !== undefined) masked.env = maskValues(config.env);
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

/** Every value that must not appear in a text, of a config with its variables filled in. */
export function collectSecrets({ headers = {}, env = {}, oauth = {} }: Secretive): string[] {
  const keys = [oauth.client_secret, oauth.private_key].filter((key) => key !== undefined);
  const values = [...Object.values(headers), ...Object.values(env), ...keys];
  // "Bearer abc": a server's error message quotes the token alone.
  const credentials = Object.values(headers).flatMap((value) => value.split(/\s+/).slice(1));
  return [...new Set([...values, ...credentials])].filter((secret) => secret.length >= shortestSecret);
}

/** Replaces the secrets in free text: error messages, stderr, history. */
export function createMask(secrets: readonly string[]): (text: string) => string {
  const spellings = secrets
    .filter((secret) => secret.length >= shortestSecret)
    .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]);
  if (spellings.length === 0) return (text) => text;
  // The longest first: one secret may be the beginning of another.
  const alternatives = [...new Set(spellings)].sort((a, b) => b.length - a.length).map(escapePattern);
  const pattern = new RegExp(alternatives.join('|'), 'g');
  return (text) => text.replace(pattern, hidden);
}

function maskValues(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.keys(values).map((name) => [name, hidden]));
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
