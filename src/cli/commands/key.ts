import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { Client } from '../client.ts';
import { type AddCommand, createContext, withGlobalFlags } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { requireKnown, requireServers } from '../known-names.ts';
import type { Terminal } from '../terminal.ts';

interface ServerKeys {
  server_id: string;
  server: string;
  sent_to: string | null;
  complete: boolean;
  keys: { name: string; entered_at: string | null }[];
}

const path = '/api/v1/keys';

/** The keys that servers ask each of their users for (`${user:NAME}`). */
export const addKey: AddCommand = (program, environment) => {
  const group = program.command('key').description('enter, list and remove your own keys for servers');

  withGlobalFlags(group.command('set'))
    .description('enter your keys for a server; they are asked for, or one is read from standard input')
    .argument('<server>', 'name or id')
    .argument('[name]', 'name of the key; without it, all that the server asks for')
    .action(async (server: string, name: string | undefined, _options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const asked = await findServer(client, server);
      const names = chosenNames(asked, name);
      for (const one of names) {
        const value = await read(terminal, asked, one, names.length);
        await client.put(`${path}/${encodeURIComponent(asked.server_id)}/${encodeURIComponent(one)}`, { value });
      }
      if (terminal.json) return terminal.printJson({ server: asked.server, entered: names });
      terminal.print(`Stored for ${asked.server}: ${names.join(', ')}. Only your own calls use it.`);
    });

  withGlobalFlags(group.command('list'))
    .description('list the keys that servers ask you for, without their values')
    .action(async (_options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const answer = await client.get<{ servers: ServerKeys[] }>(path);
      if (terminal.json) return terminal.printJson(answer);
      if (answer.servers.length === 0) return terminal.note('No server asks for keys of its users.');
      terminal.table(
        ['SERVER', 'KEY', 'ENTERED', 'SENT TO'],
        answer.servers.flatMap(({ server, sent_to, keys }) =>
          keys.map(({ name, entered_at }) => [server, name, entered_at ?? 'no', sent_to ?? 'a program of the server']),
        ),
      );
    });

  withGlobalFlags(group.command('remove'))
    .alias('rm')
    .description('remove your keys for a server')
    .argument('<server>', 'name or id')
    .argument('[name]', 'name of the key; without it, all of them')
    .action(async (server: string, name: string | undefined, _options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const asked = await findServer(client, server);
      const entered = asked.keys.filter((key) => key.entered_at !== null).map((key) => key.name);
      const names = name === undefined ? entered : chosenNames(asked, name);
      if (names.length === 0) throw new CommandFailure('notFound', `You have entered no keys for ${asked.server}`);
      for (const one of names)
        await client.delete(`${path}/${encodeURIComponent(asked.server_id)}/${encodeURIComponent(one)}`);
      if (terminal.json) return terminal.printJson({ server: asked.server, removed: names });
      terminal.print(`Removed for ${asked.server}: ${names.join(', ')}.`);
    });
};

async function findServer(client: Client, wanted: string): Promise<ServerKeys> {
  const { servers } = await client.get<{ servers: ServerKeys[] }>(path);
  const found = servers.find(({ server, server_id }) => server === wanted || server_id === wanted);
  if (found !== undefined) return found;
  await requireServers(client, [wanted]);
  throw new CommandFailure('conflict', `${wanted} asks its users for no keys`);
}

function chosenNames({ keys }: ServerKeys, name: string | undefined): string[] {
  const names = keys.map((key) => key.name);
  if (name === undefined) return names;
  requireKnown('Key', [name], names);
  return [name];
}

async function read(terminal: Terminal, { server }: ServerKeys, name: string, count: number): Promise<string> {
  if (!terminal.canAsk && count > 1)
    throw new CommandFailure('usage', `${server} asks for ${count} keys: name one, and pipe its value in`);
  const value = terminal.canAsk
    ? await terminal.ask(`Your ${name} for ${server}`, { isSecret: true })
    : (await text(process.stdin)).trim();
  if (value === '') throw new CommandFailure('usage', 'The key is empty: type it, or pipe it in');
  return value;
}
