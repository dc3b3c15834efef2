import type { Command } from 'commander';
import type { ServerDetail, ServerList, ToolList } from '../answers.ts';
import { api, serverPath } from '../client.ts';
import { type AddCommand, createContext } from '../command.ts';

export const addList: AddCommand = (program, environment) => {
  program
    .command('list')
    .alias('ls')
    .description('list the servers')
    .option('--status <status>', 'only servers with this status, for example ERROR')
    .action(async (options: { status?: string }, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const filter = options.status === undefined ? '' : `&status=${encodeURIComponent(options.status.toUpperCase())}`;
      const answer = await client.get<ServerList>(`${api}/servers?limit=1000${filter}`);
      if (terminal.json) return terminal.printJson(answer);
      if (answer.servers.length === 0) {
        return terminal.note(
          filter === ''
            ? 'No servers are registered. Add one with mcp-aggregator add or mcp-aggregator import.'
            : `No server has the status ${options.status}.`,
        );
      }
      terminal.table(
        ['NAME', 'STATUS', 'TRANSPORT', 'TOOLS', ''],
        answer.servers.map((server) => [
          server.name,
          terminal.status(server.status),
          server.transport_type,
          String(server.tool_count),
          server.error_message ?? server.description ?? '',
        ]),
      );
    });

  program
    .command('show')
    .description('show one server in detail; credentials are masked')
    .argument('<server>', 'name or id')
    .action(async (name: string, _options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const server = await client.get<ServerDetail>(serverPath(name));
      if (terminal.json) return terminal.printJson(server);
      const { stderr_tail: stderr, ...details } = server;
      const rows = Object.entries(details).filter(([, value]) => value !== null);
      const width = Math.max(...rows.map(([field]) => field.length));
      for (const [field, value] of rows) {
        const text = typeof value === 'string' ? value : JSON.stringify(value);
        const shown = field === 'status' ? terminal.status(text) : text;
        terminal.print(`${terminal.style('bold', field.padEnd(width))}  ${shown}`);
      }
      if (stderr) terminal.print(`${terminal.style('bold', 'last output')}\n${stderr.replace(/^/gm, '  ')}`);
    });

  program
    .command('tools')
    .description('list the tools of all servers, or of one')
    .argument('[server]', 'name or id')
    .action(async (name: string | undefined, _options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const tools =
        name === undefined
          ? (await client.get<ServerList>(`${api}/servers?include_tools=true&limit=1000`)).servers.flatMap(
              (server) => server.tools ?? [],
            )
          : (await client.get<ToolList>(`${serverPath(name)}/tools`)).tools;
      if (terminal.json) return terminal.printJson({ tools, total: tools.length });
      if (tools.length === 0) return terminal.note('No tools found.');
      terminal.table(
        ['TOOL', 'DESCRIPTION'],
        tools.map((tool) => [tool.name, tool.description.split('\n', 1)[0] ?? '']),
      );
    });
};
