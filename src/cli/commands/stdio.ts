import type { Command } from 'commander';
import { AppError } from '../../errors.ts';
import type { AddCommand } from '../command.ts';
import { globalFlags } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { createStdioFront, type FrontEndpoint } from '../stdio-front.ts';
import { resolveTarget, type Target, type TargetFlags } from '../target.ts';

interface StdioFlags {
  profile?: string;
  server?: string;
}

export const addStdio: AddCommand = (program, environment) => {
  program
    .command('stdio')
    .description('speak MCP on stdin and stdout, for clients that start their servers as programs')
    .option('--profile <name>', 'offer this profile only')
    .option('--server <name>', 'offer this server only, with its own tool names')
    .action(async (options: StdioFlags, self: Command) => {
      const aggregator = createAggregator(globalFlags(self), environment);
      const path = endpointPath(options);
      const front = createStdioFront({
        input: process.stdin,
        output: process.stdout,
        reach: async () => toEndpoint(await aggregator.reach(), path),
      });
      try {
        await front.ended;
      } finally {
        await aggregator.close();
      }
      // What is left are kept-alive connections.
      process.exit(0);
    });
};

function endpointPath({ profile, server }: StdioFlags): string {
  if (profile !== undefined && server !== undefined)
    throw new CommandFailure('usage', 'give --profile or --server, not both');
  if (profile !== undefined) return `/mcp/profiles/${encodeURIComponent(profile)}`;
  return server === undefined ? '/mcp' : `/mcp/servers/${encodeURIComponent(server)}`;
}

const toEndpoint = ({ url, token }: Target, path: string): FrontEndpoint => ({ url: `${url}${path}`, token });

/** The aggregator that runs, or where none was named and none runs, one in this process for as long as it lasts. */
function createAggregator(flags: TargetFlags, environment: NodeJS.ProcessEnv) {
  const named = flags.url !== undefined || environment.MCP_AGGREGATOR_URL !== undefined;
  let stop: (() => Promise<void>) | undefined;

  async function reach(): Promise<Target> {
    for (let attempt = 0; attempt < startAttempts; attempt += 1) {
      const target = resolveTarget(flags, environment);
      if (named || (await answers(target.url))) return target;
      try {
        return await start();
      } catch (error) {
        // Another front was faster; it is about to listen.
        if (!(error instanceof AppError) || error.code !== 'DATA_DIRECTORY_IN_USE') throw error;
        await new Promise((resolve) => setTimeout(resolve, startWaitMs));
      }
    }
    throw new CommandFailure('unreachable', 'Another mcp-aggregator has the data directory but does not answer');
  }

  async function start(): Promise<Target> {
    // Only now: where an aggregator runs already, this starts much faster without it.
    const { serveInProcess } = await import('../../main.ts');
    const app = await serveInProcess(environment, {
      port: '0',
      ...(flags.dataDir === undefined ? {} : { dataDir: flags.dataDir }),
    });
    stop = app.close;
    return resolveTarget({ ...flags, url: app.url }, environment);
  }

  return { reach, close: async () => await stop?.() };
}

const startAttempts = 50;
const startWaitMs = 200;
const probeMs = 2_000;

async function answers(url: string): Promise<boolean> {
  const response = await fetch(`${url}/api/v1/aggregator/health`, { signal: AbortSignal.timeout(probeMs) }).catch(
    () => undefined, // nothing there: that is the question
  );
  await response?.body?.cancel();
  return response?.ok === true;
}
