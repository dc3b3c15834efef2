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
    .description('serve MCP on stdin and stdout, for clients that start servers as programs')
    .option('--profile <name>', 'offer only this profile')
    .option('--server <name>', 'offer only this server, with its original tool names')
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

const toEndpoint = ({ url, token }: Target, path: string): FrontEndpoint => ({ url: `${url}${path}`, token });

/** The running aggregator; without one, and without --url, an aggregator in this process. */
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
        // Another process was faster; it is about to listen.
        if (!(error instanceof AppError) || error.code !== 'DATA_DIRECTORY_IN_USE') throw error;
        await new Promise((resolve) => setTimeout(resolve, startWaitMs));
      }
    }
    throw new CommandFailure('unreachable', 'Another mcp-aggregator uses the data directory but does not respond');
  }

  async function start(): Promise<Target> {
    // Loaded lazily, because it is not needed if an aggregator is already running.
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
    () => undefined, // not running
  );
  await response?.body?.cancel();
  return response?.ok === true;
}
