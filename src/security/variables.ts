/** `${NAME}`, or `${NAME:-value}` with a value for when it is not set, as client config files write it. */
const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

interface Substitution<T> {
  value: T;
  /** Variables that are named and not set, each once, in the order of their first mention. */
  missing: string[];
  /** What was filled in from the environment, by the name of the variable. */
  used: ReadonlyMap<string, string>;
}

/** Replaces `${VAR}` in all strings of a config. Keys are not changed. */
export function substituteVariables<T>(config: T, env: Readonly<Record<string, string | undefined>>): Substitution<T> {
  const missing = new Set<string>();
  const used = new Map<string, string>();
  const value = mapStrings(config, (text) =>
    text.replace(reference, (whole, name: string, fallback: string | undefined) => {
      const set = env[name] ?? fallback;
      if (env[name] !== undefined) used.set(name, env[name]);
      if (set === undefined) missing.add(name);
      return set ?? whole;
    }),
  );
  return { value, missing: [...missing], used };
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
