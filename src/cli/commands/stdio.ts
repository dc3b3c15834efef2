import type { Command } from 'commander';
import { ensureRunning } from '../background.ts';
import { type AddCommand, globalFlags } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { createStdioFront } from '../stdio-front.ts';
import { resolveTarget, type TargetFlags } from '../target.ts';

interface StdioFlags {
  profile?: string;
  server?: string;
}

export const addStdio: AddCommand = (program, environment) => {
  program
    .command('stdio')
    .description('serve MCP on stdin and stdout, for clients that start servers as programs')
    .option('--profile <name>', 'offer only this profile')
    .option('--server <name>', 'offer only this server, with its original tool names')
    .action(async (options: StdioFlags, self: Command) => {
      const path = endpointPath(options);
      const front = createStdioFront({
        input: process.stdin,
        output: process.stdout,
        async reach() {
          const { url, token } = await findAggregator(globalFlags(self), environment);
          return { url: `${url}${path}`, token };
        },
      });
      await front.ended;
      // Only keep-alive connections are left.
      process.exit(0);
    });
};

function endpointPath({ profile, server }: StdioFlags): string {
  if (profile !== undefined && server !== undefined)
    throw new CommandFailure('usage', 'use --profile or --server, not both');
  if (profile !== undefined) return `/mcp/profiles/${encodeURIComponent(profile)}`;
  return server === undefined ? '/mcp' : `/mcp/servers/${encodeURIComponent(server)}`;
}

/** The one that --url names, or the one of the data directory, which is started in the background if necessary. */
function findAggregator(flags: TargetFlags, environment: NodeJS.ProcessEnv) {
  const isNamed = flags.url !== undefined || environment.MCP_AGGREGATOR_URL !== undefined;
  return isNamed ? resolveTarget(flags, environment) : ensureRunning(flags, environment);
}
