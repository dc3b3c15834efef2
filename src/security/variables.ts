/**
 * What a config refers to: `${NAME}` or `${NAME:-value}` of the environment, `${keychain:name}` of the keychain of this
 * user, `${command:op read …}` for the output of a command, `${user:NAME}` for what each user enters.
 */
type VariableSource = 'environment' | 'keychain' | 'command' | 'user';

export interface Reference {
  source: VariableSource;
  name: string;
}

interface Substitution<T> {
  value: T;
  /** What is named and not there, each once, in the order of its first mention. */
  missing: Reference[];
  /** What was filled in, by the text of the reference without its braces. */
  used: ReadonlyMap<string, string>;
}

/** Replaces the references in all strings of a config. Keys are not changed. */
export function substituteVariables<T>(config: T, find: (reference: Reference) => string | undefined): Substitution<T> {
  const missing = new Map<string, Reference>();
  const used = new Map<string, string>();
  const value = mapStrings(config, (text) =>
    replaceBraced(text, (content) => {
      const parsed = parseReference(content);
      if (parsed === undefined) return undefined;
      const { wanted, fallback } = parsed;
      const found = find(wanted);
      const label = wanted.source === 'environment' ? wanted.name : content;
      if (found !== undefined) used.set(label, found);
      else if (fallback === undefined) missing.set(label, wanted);
      return found ?? fallback ?? `\${${content}}`;
    }),
  );
  return { value, missing: [...missing.values()], used };
}

/** What is referred to in a keychain, by a command or of the user: it has to be asked for before it can be filled in. */
export function referencesTo(config: unknown, source: Exclude<VariableSource, 'environment'>): string[] {
  const names = new Set<string>();
  substituteVariables(config, (wanted) => {
    if (wanted.source === source) names.add(wanted.name);
    return undefined;
  });
  return [...names];
}

/**
 * Replaces every `${…}`, up to the next brace; what `replace` does not know stays as it is. In linear time, because files
 * of other programs are read with it, too.
 */
export function replaceBraced(text: string, replace: (content: string) => string | undefined): string {
  let result = '';
  let kept = 0;
  for (let at = text.indexOf('${'); at !== -1; at = text.indexOf('${', at)) {
    const end = text.indexOf('}', at + 2);
    if (end === -1) break;
    const replaced = replace(text.slice(at + 2, end));
    if (replaced === undefined) {
      at += 2;
      continue;
    }
    result += text.slice(kept, at) + replaced;
    at = end + 1;
    kept = at;
  }
  return kept === 0 ? text : result + text.slice(kept);
}

const variable = /^([A-Za-z_][A-Za-z0-9_]*)(?:$|:-)/;

function parseReference(content: string): { wanted: Reference; fallback?: string } | undefined {
  for (const source of ['keychain', 'command', 'user'] as const) {
    const start = `${source}:`;
    if (content.startsWith(start) && content.length > start.length)
      return { wanted: { source, name: content.slice(start.length) } };
  }
  const [whole = '', name] = variable.exec(content) ?? [];
  if (name === undefined) return undefined;
  const wanted = { source: 'environment', name } as const;
  return whole.endsWith(':-') ? { wanted, fallback: content.slice(whole.length) } : { wanted };
}

function mapStrings<T>(value: T, map: (text: string) => string): T {
  const mapped = (part: unknown): unknown => {
    if (typeof part === 'string') return map(part);
    if (Array.isArray(part)) return part.map(mapped);
    if (typeof part === 'object' && part !== null) {
      return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, mapped(inner)]));
    }
    return part;
  };
  // Strings become strings and everything keeps its place, so the type is the same.
  return mapped(value) as T;
}
