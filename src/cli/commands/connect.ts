import type { Command } from 'commander';
import type { ServerDetail } from '../answers.ts';
import { type Client, serverPath } from '../client.ts';
import { type AddCommand, type CommandContext, createContext } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { awaitSettled, type Settled } from '../settled.ts';

interface ConnectAnswer {
  status: string;
  message: string;
}

export const addConnect: AddCommand = (program, environment) => {
  program
    .command('connect')
    .description('connect a server')
    .argument('<server>', 'name or id')
    .option('--no-wait', 'do not wait for the connection')
    .action(async (name: string, options: { wait: boolean }, self: Command) => {
      const context = createContext(self, environment);
      const { client, terminal } = context;
      const answer = await client.post<ConnectAnswer>(`${serverPath(name)}/connect`);
      if (!options.wait) return report(answer, context);
      const server = await terminal.progress(`${name}: connecting`, (update) => awaitSettled(client, name, update));
      reportSettled(server, context);
    });

  program
    .command('disconnect')
    .description('disconnect a server after its pending calls; it stays registered')
    .argument('<server>', 'name or id')
    .option('--force', 'cancel pending calls immediately')
    .action(async (name: string, options: { force?: boolean }, self: Command) => {
      const context = createContext(self, environment);
      const { client, terminal } = context;
      const force = options.force === true;
      const answer = await client.post<ConnectAnswer>(`${serverPath(name)}/disconnect`, { force });
      if (answer.status !== 'DISCONNECTING') return report(answer, context);
      const server = await terminal.progress(answer.message, () => awaitSettled(client, name, () => undefined));
      report({ status: server.status, message: 'Server disconnected successfully' }, context);
    });

  program
    .command('remove')
    .description('remove a server with its tools and history')
    .argument('<server>', 'name or id')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (name: string, options: { yes?: boolean }, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const server = await client.get<ServerDetail>(serverPath(name));
      if (!options.yes) {
        if (!terminal.canAsk) throw new CommandFailure('usage', `Confirm with --yes to remove ${server.name}`);
        const sure = await terminal.confirm(`Remove ${server.name} with its ${countTools(server)}?`);
        if (!sure) throw new CommandFailure('failed', 'Nothing was removed.');
      }
      await remove(client, server);
      if (terminal.json) terminal.printJson({ removed: server.name, server_id: server.id });
      else terminal.print(`${server.name} removed.`);
    });
};

const remove = (client: Client, server: ServerDetail) => client.delete(serverPath(server.id));

const countTools = ({ tool_count }: ServerDetail) => (tool_count === 1 ? '1 tool' : `${tool_count} tools`);

function report(answer: ConnectAnswer, { terminal }: CommandContext): void {
  if (terminal.json) terminal.printJson(answer);
  else terminal.print(`${terminal.status(answer.status)}: ${answer.message}`);
}

/** Prints the result of a connection attempt; a failure ends the command. */
export function reportSettled(server: Settled, { terminal }: CommandContext): void {
  if (terminal.json) terminal.printJson(server);
  const { name, status, error_message: error, discovery_error: undiscovered } = server;
  if (undiscovered !== undefined) {
    throw new CommandFailure('failed', `${name}: ${status}, but discovering its tools failed: ${undiscovered}`);
  }
  if (status === 'CONNECTED' || status === 'DEGRADED') {
    if (!terminal.json)
      terminal.print(`${name}: ${terminal.status(status)}, ${countTools(server)}${error === null ? '' : `: ${error}`}`);
    return;
  }
  throw new CommandFailure(
    'failed',
    `${name}: ${status}: ${error ?? 'no reason given'}\nMore: mcp-aggregator show ${name}`,
  );
}
