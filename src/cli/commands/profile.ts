import type { Command } from 'commander';
import { collect } from '../assignments.ts';
import { type AddCommand, createContext, withGlobalFlags } from '../command.ts';
import { requireChoice, requireServers } from '../known-names.ts';

interface ProfileAnswer {
  name: string;
  endpoint: string;
  description?: string;
  servers?: string[];
  tools?: { name: string; rename?: string; description?: string }[];
  exposure?: string;
}

interface SetProfileFlags {
  server?: string[];
  tool?: string[];
  description?: string;
  exposure?: string;
}

const path = '/api/v1/profiles';
const profilePath = (name: string) => `${path}/${encodeURIComponent(name)}`;

export const addProfile: AddCommand = (program, environment) => {
  const group = program
    .command('profile')
    .description('manage profiles, selections of servers and tools with their own endpoints');

  withGlobalFlags(group.command('list', { isDefault: true }))
    .description('list the profiles')
    .action(async (_options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const answer = await client.get<{ profiles: ProfileAnswer[] }>(path);
      if (terminal.json) return terminal.printJson(answer);
      if (answer.profiles.length === 0)
        return terminal.note('No profiles found. Create one: mcp-aggregator profile set --help');
      terminal.table(
        ['NAME', 'ENDPOINT', 'SERVERS', 'TOOLS', 'DESCRIPTION'],
        answer.profiles.map((profile) => [
          profile.name,
          profile.endpoint,
          profile.servers?.join(', ') ?? 'all',
          profile.tools === undefined ? 'all' : String(profile.tools.length),
          profile.description ?? '',
        ]),
      );
    });

  withGlobalFlags(group.command('show'))
    .description('show one profile')
    .argument('<name>', 'name of the profile')
    .action(async (name: string, _options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const profile = await client.get<ProfileAnswer>(profilePath(name));
      if (terminal.json) return terminal.printJson(profile);
      terminal.print(`${terminal.style('bold', profile.name)}  ${client.url}${profile.endpoint}`);
      if (profile.description !== undefined) terminal.print(profile.description);
      terminal.print(`servers: ${profile.servers?.join(', ') ?? 'all'}`);
      if (profile.exposure !== undefined) terminal.print(`lists: ${profile.exposure}`);
      for (const tool of profile.tools ?? [])
        terminal.print(`- ${tool.name}${tool.rename === undefined ? '' : ` as ${tool.rename}`}`);
    });

  withGlobalFlags(group.command('set'))
    .description('create or replace a profile')
    .argument('<name>', 'name of the profile')
    .option('--server <name>', 'server to include; repeatable; all servers if omitted', collect)
    .option(
      '--tool <pattern>',
      'tool to include, as server.tool; "*" matches anything, =name renames the tool',
      collect,
    )
    .option('--description <text>', 'description of the profile')
    .option('--exposure <what>', 'auto, all, or search')
    .action(async (name: string, options: SetProfileFlags, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      requireChoice('--exposure', options.exposure, ['auto', 'all', 'search']);
      const named = options.tool?.map((tool) => tool.split('.')[0] ?? '').filter((server) => !server.includes('*'));
      await requireServers(client, [...(options.server ?? []), ...(named ?? [])]);
      const profile = await client.put<ProfileAnswer>(profilePath(name), {
        servers: options.server,
        tools: options.tool?.map(toTool),
        description: options.description,
        exposure: options.exposure,
      });
      if (terminal.json) return terminal.printJson(profile);
      terminal.print(`Profile "${name}" is at ${client.url}${profile.endpoint}`);
    });

  withGlobalFlags(group.command('remove'))
    .alias('rm')
    .description('remove a profile')
    .argument('<name>', 'name of the profile')
    .action(async (name: string, _options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      await client.delete(profilePath(name));
      if (terminal.json) terminal.printJson({ removed: name });
      else terminal.print(`Profile "${name}" removed.`);
    });
};

/** `server.tool` or `server.tool=new_name`. */
function toTool(text: string): { name: string; rename?: string } {
  const [name = '', rename] = text.split('=');
  return rename === undefined ? { name } : { name, rename };
}
