/** The `Bearer` challenge of a WWW-Authenticate header (RFC 6750, RFC 9728). */
export interface Challenge {
  error?: string;
  scope?: string;
  resourceMetadata?: string;
}

const parameter = /([a-zA-Z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g;

export function parseChallenge(header: string | undefined): Challenge {
  const start = header?.search(/\bBearer\b/i) ?? -1;
  if (header === undefined || start === -1) return {};
  // Another scheme's parameters may follow; Bearer's own come first and win.
  const found = new Map<string, string>();
  for (const [, name = '', quoted, plain = ''] of header.slice(start + 'Bearer'.length).matchAll(parameter)) {
    const key = name.toLowerCase();
    if (!found.has(key)) found.set(key, quoted === undefined ? plain : quoted.replace(/\\(.)/g, '$1'));
  }
  return {
    error: found.get('error'),
    scope: found.get('scope'),
    resourceMetadata: found.get('resource_metadata'),
  };
}

export function toChallenge(parameters: Record<string, string | undefined>): string {
  const parts = Object.entries(parameters)
    .filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '')
    .map(([name, value]) => `${name}="${value.replace(/["\\]/g, '\\$&')}"`);
  return `Bearer ${parts.join(', ')}`;
}

export function scopesOf(scope: string | undefined): string[] {
  return (scope ?? '').split(' ').filter((part) => part !== '');
}

export function union(...scopes: (readonly string[])[]): string[] {
  return [...new Set(scopes.flat())];
}
