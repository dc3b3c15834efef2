import type { Command } from 'commander';
import { didYouMean } from '../../suggestions.ts';
import type { ServerList, ToolList } from '../answers.ts';
import { api, type Client, serverPath } from '../client.ts';
import { type AddCommand, createContext } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { awaitSettled } from '../settled.ts';
import { reportSettled } from './connect.ts';

/** `enable` and `disable`: whole servers, single tools, or the tools that match a pattern. */
export const addToolSwitches: AddCommand = (program, environment) => {
  program
    .command('enable')
    .description('enable servers or tools that were disabled')
    .argument('<name...>', 'a server, or a tool as server.tool; "*" in the name of the tool matches any characters')
    .action(async (names: string[], _options, self: Command) => {
      const context = createContext(self, environment);
      const { client, terminal } = context;
      for (const { server, tool } of await Promise.all(names.map((name) => findTarget(client, name)))) {
        if (tool !== undefined) {
          report(await setEnabled(client, server, tool, true));
          continue;
        }
        await client.patch(serverPath(server), { auto_connect: true });
        await client.post(`${serverPath(server)}/connect`);
        reportSettled(
          await terminal.progress(`${server}: connecting`, (update) => awaitSettled(client, server, update)),
          context,
        );
      }
      function report(tools: string[]): void {
        if (terminal.json) terminal.printJson({ enabled: tools });
        else terminal.print(`Enabled: ${tools.join(', ')}`);
      }
    });

  program
    .command('disable')
    .description('disable servers or tools: clients no longer see them, and they cannot be called')
    .argument('<name...>', 'a server, or a tool as server.tool; "*" in the name of the tool matches any characters')
    .action(async (names: string[], _options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const disabled: string[] = [];
      for (const { server, tool } of await Promise.all(names.map((name) => findTarget(client, name)))) {
        if (tool !== undefined) {
          disabled.push(...(await setEnabled(client, server, tool, false)));
          continue;
        }
        await client.patch(serverPath(server), { auto_connect: false });
        await client.post(`${serverPath(server)}/disconnect`, { force: false });
        disabled.push(server);
      }
      if (terminal.json) terminal.printJson({ disabled });
      else terminal.print(`Disabled: ${disabled.join(', ')}`);
    });
};

interface SwitchTarget {
  server: string;
  tool?: string;
}

/** A server of that name, or else the tool of a server. */
async function findTarget(client: Client, name: string): Promise<SwitchTarget> {
  const { servers } = await client.get<ServerList>(`${api}/servers?limit=1000`);
  const known = servers.map((server) => server.name);
  if (known.includes(name)) return { server: name };
  const dot = name.indexOf('.');
  const [server, tool] = dot === -1 ? [name, ''] : [name.slice(0, dot), name.slice(dot + 1)];
  if (known.includes(server) && tool !== '') return { server, tool };
  throw new CommandFailure('notFound', `Server not found: ${server}${didYouMean(server, known)}`);
}

/** The tools that it is about. What is decided about one tool wins over a pattern, so that it is taken back first. */
async function setEnabled(client: Client, server: string, tool: string, enabled: boolean): Promise<string[]> {
  const decide = async (name: string, decision: boolean | null) => {
    const path = `${serverPath(server)}/tools/${encodeURIComponent(name)}`;
    return (await client.patch<ToolList>(path, { enabled: decision })).tools;
  };
  const concerned = await decide(tool, enabled ? null : false);
  for (const { original_name: name, enabled: isEnabled } of concerned) {
    if (isEnabled !== enabled) await decide(name, enabled ? true : null);
  }
  return concerned.length === 0 ? [`${server}.${tool} (no tool matches it now)`] : concerned.map(({ name }) => name);
}
