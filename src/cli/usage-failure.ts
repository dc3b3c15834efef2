/** What the parser of the command line refuses, in our words: what was meant, and how the command is used. */
import type { Command, CommanderError } from 'commander';
import { didYouMean } from '../suggestions.ts';
import { CommandFailure } from './exit-code.ts';

/** Other programs have these commands; ours are named otherwise. */
const synonyms: Readonly<Record<string, string>> = {
  status: 'doctor',
  ps: 'list',
  info: 'show',
  describe: 'show',
  inspect: 'show',
  logs: 'show',
  new: 'add',
  create: 'add',
  register: 'add',
  install: 'setup',
  init: 'setup',
  uninstall: 'setup --undo',
  delete: 'remove',
  update: 'edit',
  config: 'help settings',
  settings: 'help settings',
  dashboard: 'open',
  ui: 'open',
  run: 'serve',
  up: 'start',
  down: 'stop',
  exec: 'call',
};

export function toUsageFailure(error: CommanderError, command: Command): CommandFailure {
  return new CommandFailure('usage', explain(error, command), { cause: error });
}

function explain({ code, message }: CommanderError, command: Command): string {
  const said = message.replace(/^error: /, '');
  const [, given = ''] = /'([^' ]*)/.exec(said) ?? [];
  // A group runs its default command with what it does not know.
  const group = groupOf(command);
  const [first = ''] = command.args;
  const isCommand = group !== undefined && first !== '' && !first.startsWith('-');
  switch (code) {
    case 'commander.unknownOption':
      if (isCommand) return unknownCommand(first, group);
      return `unknown option ${given}${didYouMean(given, optionsOf(command)) || `; see: ${helpOf(command)}`}`;
    case 'commander.unknownCommand':
      return unknownCommand(given, command);
    case 'commander.excessArguments':
      return isCommand ? unknownCommand(first, group) : `unexpected argument "${first}". ${usageOf(command)}`;
    case 'commander.missingArgument':
      return `${said}. ${usageOf(command)}`;
    case 'commander.invalidArgument': {
      const [, wrong = ''] = /argument '(.*)' is invalid/.exec(said) ?? [];
      const choices = /Allowed choices are (.*)\.$/.exec(said)?.[1]?.split(', ') ?? [];
      return `${said.replace(/\.$/, '')}${didYouMean(wrong, choices)}`;
    }
    default:
      return said;
  }
}

/** The group that a command without arguments of its own was run for. */
function groupOf(command: Command): Command | undefined {
  if (command.registeredArguments.length > 0) return undefined;
  if (command.commands.length > 0) return command;
  const isDefault = command.parent?.parent != null && command.parent.args[0] !== command.name();
  return isDefault ? (command.parent ?? undefined) : undefined;
}

/** Also of the program itself, whose default command gets what is no command. */
export function unknownCommand(given: string, group: Command): string {
  const known = namesIn(group);
  const of = group.parent === null ? '' : ` of ${group.name()}`;
  const other = group.parent === null ? synonyms[given] : undefined;
  const near =
    other === undefined
      ? didYouMean(given, known) || `; the commands are: ${known.join(', ')}`
      : `. Did you mean ${other}?`;
  return `unknown command "${given}"${of}${near}`;
}

const namesIn = (group: Command) =>
  group
    .createHelp()
    .visibleCommands(group)
    .map((command) => command.name())
    .filter((name) => group.parent === null || name !== 'help')
    .sort();

const optionsOf = (command: Command): string[] =>
  [...command.options, ...(command.parent?.options ?? [])].flatMap(({ long }) => long ?? []);

const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;

const helpOf = (command: Command) => pathOf(command).replace(/^(\S+)/, '$1 help');

const usageOf = (command: Command) => `Usage: ${pathOf(command)} ${command.usage()}`;
