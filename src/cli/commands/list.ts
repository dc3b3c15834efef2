import type { Command } from 'commander';
import { statuses } from '../../registry/lifecycle.ts';
import { didYouMean } from '../../suggestions.ts';
import type { ServerDetail, ServerList, ToolList, ToolView } from '../answers.ts';
import { api, type Client, serverPath } from '../client.ts';
import { type AddCommand, createContext } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { requireChoice } from '../known-names.ts';
import type { Terminal } from '../terminal.ts';
import { exampleOf, parameterNames, parametersOf, signatureOf } from '../tool-signature.ts';

export const addList: AddCommand = (program, environment) => {
  program
    .command('list')
    .alias('ls')
    .description('list the servers')
    .option('--status <status>', 'only servers with this status, for example ERROR')
    .action(async (options: { status?: string }, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const status = options.status?.toUpperCase();
      requireChoice('--status', status, statuses);
      const filter = status === undefined ? '' : `&status=${status}`;
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
          terminal.status(server.status) + (server.parked ? ' (parked)' : ''),
          server.transport_type,
          String(server.tool_count),
          server.error_message ?? server.description ?? '',
        ]),
      );
    });

  program
    .command('show')
    .description('show a server in detail, with masked credentials, or a tool with its parameters')
    .argument('<name>', 'a server, by name or id, or a tool, as server.tool')
    .action(async (name: string, _options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const found = await findNamed(client, name);
      if (terminal.json) return terminal.printJson('tool' in found ? found.tool : found.server);
      if ('tool' in found) printTool(found.tool, terminal);
      else printServer(found.server, terminal);
    });

  program
    .command('tools')
    .description('list the tools of all servers, or of one, with their parameters')
    .argument('[server]', 'name or id')
    .action(async (name: string | undefined, _options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const tools = name === undefined ? await everyTool(client) : await toolsOf(client, name);
      if (terminal.json) return terminal.printJson({ tools, total: tools.length });
      if (tools.length === 0) return terminal.note('No tools found.');
      terminal.table(
        ['TOOL', 'PARAMETERS', 'DESCRIPTION'],
        tools.map((tool) => [
          [tool.name, ...remarksOn(tool).map((remark) => terminal.style('yellow', `(${remark})`))].join(' '),
          parameterNames(tool),
          tool.description.split('\n', 1)[0] ?? '',
        ]),
      );
    });
};

const remarksOn = ({ enabled, override }: ToolView) => [
  ...(override?.rename === undefined ? [] : [`renamed to ${override.rename}`]),
  ...(enabled ? [] : ['disabled']),
];

const toolsOf = async (client: Client, server: string) =>
  (await client.get<ToolList>(`${serverPath(server)}/tools`)).tools;

async function everyTool(client: Client): Promise<ToolView[]> {
  const { servers } = await client.get<ServerList>(`${api}/servers?include_tools=true&limit=1000`);
  return servers.flatMap((server) => server.tools ?? []);
}

async function findNamed(client: Client, name: string): Promise<{ server: ServerDetail } | { tool: ToolView }> {
  const { servers } = await client.get<ServerList>(`${api}/servers?include_tools=true&limit=1000`);
  const server = servers.find((one) => one.name === name || one.id === name);
  if (server !== undefined) return { server: await client.get<ServerDetail>(serverPath(server.id)) };
  const tools = servers.flatMap((one) => one.tools ?? []);
  const matches = tools.filter((one) => namesOf(one).includes(name));
  const [tool, ...others] = matches;
  if (tool !== undefined && others.length === 0) return { tool };
  if (tool !== undefined) {
    throw new CommandFailure(
      'usage',
      `Several servers have a tool named ${name}: ${matches.map((one) => one.name).join(', ')}`,
    );
  }
  const known = [
    ...servers.map((one) => one.name),
    ...tools.map((one) => (name.includes('.') ? one.name : one.original_name)),
  ];
  throw new CommandFailure('notFound', `No server or tool is named ${name}${didYouMean(name, known)}`);
}

function namesOf({ name, original_name, wire_name, override }: ToolView): string[] {
  const renamed = override?.rename === undefined ? [] : [`${name.slice(0, name.indexOf('.'))}.${override.rename}`];
  return [name, original_name, wire_name, ...renamed];
}

function printServer(server: ServerDetail, terminal: Terminal): void {
  const { stderr_tail: stderr, sessions, ...details } = server;
  const fields = { ...details, sessions: `${sessions.ownership} (${sessions.source}): ${sessions.reason}` };
  const rows = Object.entries(fields).filter(([, value]) => value !== null);
  const width = Math.max(...rows.map(([field]) => field.length));
  for (const [field, value] of rows) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const shown = field === 'status' ? terminal.status(text) : text;
    terminal.print(`${terminal.style('bold', field.padEnd(width))}  ${shown}`);
  }
  if (stderr) terminal.print(`${terminal.style('bold', 'last output')}\n${stderr.replace(/^/gm, '  ')}`);
}

function printTool(tool: ToolView, terminal: Terminal): void {
  terminal.print(terminal.style('bold', signatureOf(tool)));
  if (!tool.enabled) terminal.say(terminal.style('yellow', `disabled; to use it: mcp-aggregator enable ${tool.name}`));
  if (tool.description !== '') terminal.print(`\n${tool.description.trim()}`);
  const parameters = parametersOf(tool.input_schema);
  if (parameters.length > 0) {
    terminal.print('');
    terminal.table(
      ['PARAMETER', 'TYPE', '', 'DESCRIPTION'],
      parameters.map(({ name, type, isRequired, description }) => [
        name,
        type,
        isRequired ? 'required' : '',
        description,
      ]),
    );
  }
  const { fixed_arguments: fixed } = tool.override ?? {};
  if (fixed !== undefined) terminal.print(`\nfixed arguments: ${JSON.stringify(fixed)}`);
  terminal.say(`\nMCP clients see it as ${tool.wire_name}. To call it: ${exampleOf(tool)}`);
}
