/** `key=value` on the command line. */
import { CommandFailure } from './exit-code.ts';

export function toAssignments(pairs: readonly string[], what: string): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new CommandFailure('usage', `${what}: "${pair}" is not of the form name=value`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

/** For commander: an option that may be repeated. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}
