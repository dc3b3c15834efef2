import type { Command } from 'commander';
import { didYouMean } from '../../suggestions.ts';
import type { ServerList } from '../answers.ts';
import { api } from '../client.ts';
import { type AddCommand, createContext } from '../command.ts';
import { complete, completionScripts, type NameSources } from '../completion.ts';
import { CommandFailure } from '../exit-code.ts';

export const addCompletion: AddCommand = (program, environment) => {
  program
    .command('completion')
    .description('print a script that completes commands and names in your shell')
    .argument('<shell>', 'bash, zsh or fish')
    .action((shell: string) => {
      const script = completionScripts[shell];
      const shells = Object.keys(completionScripts);
      if (script === undefined)
        throw new CommandFailure('usage', `"${shell}" is not one of ${shells.join(', ')}${didYouMean(shell, shells)}`);
      console.log(script);
    });

  program
    .command('complete', { hidden: true })
    .argument('[words...]', 'the words after the name of the program')
    .action(async (words: string[], _options, self: Command) => {
      const found = await complete(program, words, namesOf(self, environment));
      if (found.length > 0) console.log(found.join('\n'));
    });
};

function namesOf(self: Command, environment: NodeJS.ProcessEnv): NameSources {
  const { client } = createContext(self, environment);
  const servers = async () => (await client.get<ServerList>(`${api}/servers?limit=1000&include_tools=true`)).servers;
  // A shell shows nothing rather than an error.
  const quietly = (names: Promise<string[]>) => names.catch(() => []);
  return {
    servers: () => quietly(servers().then((all) => all.map(({ name }) => name))),
    tools: () => quietly(servers().then((all) => all.flatMap(({ tools = [] }) => tools.map(({ name }) => name)))),
    profiles: () =>
      quietly(
        client
          .get<{ profiles: { name: string }[] }>('/api/v1/profiles')
          .then(({ profiles }) => profiles.map(({ name }) => name)),
      ),
    clients: async () => (await import('../client-configs/clients.ts')).clients.map(({ id }) => id),
  };
}
