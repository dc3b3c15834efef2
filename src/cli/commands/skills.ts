import type { Command } from 'commander';
import { collect } from '../assignments.ts';
import { type AddCommand, createContext, withGlobalFlags } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';

interface SkillAnswer {
  id: string;
  name: string;
  description: string;
  examples: string[];
  tool_count: number;
}

interface SetSkillFlags {
  name?: string;
  description?: string;
  example?: string[];
}

const path = '/api/v1/skills';
const skillPath = (id: string) => `${path}/${encodeURIComponent(id)}`;

export const addSkills: AddCommand = (program, environment) => {
  const group = program.command('skills').description('manage categories (skills) of tools');

  withGlobalFlags(group.command('list', { isDefault: true }))
    .description('list the categories (skills) and how many tools each has')
    .action(async (_options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const answer = await client.get<{ skills: SkillAnswer[] }>(path);
      if (terminal.json) return terminal.printJson(answer);
      terminal.table(
        ['ID', 'TOOLS', 'NAME', 'DESCRIPTION'],
        answer.skills.map((skill) => [skill.id, String(skill.tool_count), skill.name, skill.description]),
      );
    });

  withGlobalFlags(group.command('show'))
    .description('show one skill')
    .argument('<id>', 'ID of the skill')
    .action(async (id: string, _options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const skill = await client.get<SkillAnswer>(skillPath(id));
      if (terminal.json) return terminal.printJson(skill);
      terminal.print(`${terminal.style('bold', skill.id)}  ${skill.name}  (${skill.tool_count} tools)`);
      terminal.print(skill.description);
      for (const example of skill.examples) terminal.print(`- ${example}`);
    });

  withGlobalFlags(group.command('set'))
    .description('add a skill, or change some of its fields; tools are classified again')
    .argument('<id>', 'lowercase letters, digits and "_"')
    .option('--name <name>', 'name of the skill')
    .option('--description <text>', 'what the tools of the skill do')
    .option('--example <text>', 'an example request; repeatable, replaces the examples', collect)
    .action(async (id: string, options: SetSkillFlags, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const { skills } = await client.get<{ skills: SkillAnswer[] }>(path);
      const before = skills.find((skill) => skill.id === id);
      const name = options.name ?? before?.name;
      const description = options.description ?? before?.description;
      if (name === undefined || description === undefined)
        throw new CommandFailure('usage', `Skill "${id}" does not exist yet: --name and --description are required.`);
      const examples = options.example ?? before?.examples ?? [];
      const skill = await client.put<SkillAnswer>(skillPath(id), { name, description, examples });
      if (terminal.json) terminal.printJson(skill);
      else terminal.print(`Skill "${id}" ${before === undefined ? 'added' : 'changed'}; tools are classified again.`);
    });

  withGlobalFlags(group.command('remove'))
    .alias('rm')
    .description('remove a skill; its tools are classified again')
    .argument('<id>', 'ID of the skill')
    .action(async (id: string, _options, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      await client.delete(skillPath(id));
      if (terminal.json) terminal.printJson({ removed: id });
      else terminal.print(`Skill "${id}" removed.`);
    });
};
