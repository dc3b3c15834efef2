/** Shared parts of all commands except `serve`: flags, a client, a terminal. */
import type { Command } from 'commander';
import { type Client, createClient } from './client.ts';
import { resolveTarget, type TargetFlags } from './target.ts';
import { createTerminal, type Terminal } from './terminal.ts';

export interface CommandContext {
  client: Client;
  terminal: Terminal;
  environment: NodeJS.ProcessEnv;
  flags: GlobalFlags;
}

type GlobalFlags = TargetFlags & { json?: boolean };

/** The export of each file in `commands/`; `cli.ts` lists them. */
export type AddCommand = (program: Command, environment: NodeJS.ProcessEnv) => void;

/** Global flags may stand before and after the command's name. */
export function withGlobalFlags(command: Command): Command {
  return command
    .option('--url <url>', 'address of the aggregator (MCP_AGGREGATOR_URL)')
    .option(
      '--token <token>',
      'token to use (MCP_AGGREGATOR_TOKEN); defaults to the token of your sign-in or of the data directory',
    )
    .option('--data-dir <path>', 'data directory (MCP_AGGREGATOR_DATA_DIR)')
    .option('--json', 'print JSON instead of text');
}

export function globalFlags(command: Command): GlobalFlags {
  return command.optsWithGlobals<GlobalFlags>();
}

export function createContext(command: Command, environment: NodeJS.ProcessEnv): CommandContext {
  const flags = globalFlags(command);
  return {
    client: createClient(resolveTarget(flags, environment)),
    terminal: createTerminal({ json: flags.json === true, environment }),
    environment,
    flags,
  };
}
