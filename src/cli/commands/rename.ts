import type { Command } from 'commander';
import { serverPath } from '../client.ts';
import { type AddCommand, createContext } from '../command.ts';

export const addRename: AddCommand = (program, environment) => {
  program
    .command('rename')
    .description('rename a server; its tools, and the profiles and tokens that name it, follow')
    .argument('<server>', 'name or id')
    .argument('<new-name>', 'a-z, 0-9, "-" and "_", a letter first')
    .action(async (server: string, name: string, _options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const renamed = await client.patch<{ name: string; tool_count: number }>(serverPath(server), { name });
      if (terminal.json) return terminal.printJson(renamed);
      terminal.print(`${server} is now ${renamed.name}; its tools are ${renamed.name}.…`);
    });
};
