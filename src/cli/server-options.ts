/** The options of a server that `add` and `edit` both set. */
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { ownerships, protocols, startModes } from '../registry/server-choices.ts';

export interface ServerOptionFlags {
  sessions?: string;
  start?: string;
  protocol?: string;
}

export function withServerOptions(command: Command): Command {
  const choices = (flags: string, description: string, values: readonly string[]) =>
    command.addOption(new Option(flags, description).choices([...values]));
  choices('--sessions <whose>', 'whose a session with the server is', ['auto', ...ownerships]);
  choices(
    '--start <when>',
    'when the server is started',
    startModes.map((mode) => mode.replace('_', '-')),
  );
  return choices('--protocol <revisions>', 'protocol revisions to use', protocols);
}

/** Those that were given, as REST names them. */
export function serverOptionsOf({ sessions, start, protocol }: ServerOptionFlags): Record<string, string> {
  const given = Object.entries({ sessions, start: start?.replace('-', '_'), protocol });
  return Object.fromEntries(given.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** A path as the user's shell means it; variables and "~" are left to the aggregator, "" stands for none. */
export const fromHere = (path: string | undefined) =>
  path === undefined || path === '' || /^[~$]/.test(path) ? path : resolve(path);
