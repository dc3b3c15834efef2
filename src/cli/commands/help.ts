import type { Command } from 'commander';
import { didYouMean } from '../../suggestions.ts';
import type { AddCommand } from '../command.ts';
import { CommandFailure, exitCodes } from '../exit-code.ts';
import { describeSettings } from './serve.ts';

/** `help`, `help <command>`, and the topics that would make `--help` long. */
export const addHelp: AddCommand = (program) => {
  program.helpCommand(false);
  program
    .command('help')
    .description('explain a command, or list the settings (help settings) or the exit codes (help exit-codes)')
    .argument('[topic...]', 'a command, "settings" with a word to search for, or "exit-codes"')
    .action((topic: string[]) => {
      const [first, ...rest] = topic;
      if (first === undefined) return program.outputHelp();
      if (first === 'settings') return console.log(describeSettings(rest.join(' ')));
      if (first === 'exit-codes') return console.log(describeExitCodes());
      findCommand(program, topic).outputHelp();
    });
};

function findCommand(program: Command, words: readonly string[]): Command {
  return words.reduce((command, word) => {
    const found = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (found !== undefined) return found;
    const known = [
      ...command.commands.map((one) => one.name()),
      ...(command === program ? ['settings', 'exit-codes'] : []),
    ];
    throw new CommandFailure('usage', `no help for "${word}"${didYouMean(word, known)}`);
  }, program);
}

function describeExitCodes(): string {
  return Object.values(exitCodes)
    .map(({ code, meaning }) => `${code}  ${meaning}`)
    .join('\n');
}
