import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { CommandError } from '../../security/command-output.ts';
import { createKeychain } from '../../security/keychain.ts';
import { type AddCommand, globalFlags, withGlobalFlags } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { createTerminal } from '../terminal.ts';

/** Secrets in the keychain of this user, which servers refer to as `${keychain:name}`. */
export const addSecret: AddCommand = (program, environment) => {
  const group = program
    .command('secret')
    .description('store secrets in the keychain of this user, for servers to refer to');
  const terminalOf = (self: Command) => createTerminal({ json: globalFlags(self).json === true, environment });
  const keychain = createKeychain(environment);

  withGlobalFlags(group.command('set'))
    .description('store a secret; it is asked for, or read from standard input')
    .argument('<name>', 'name of the secret')
    .action(async (name: string, _options, self: Command) => {
      const terminal = terminalOf(self);
      const value = terminal.canAsk
        ? await terminal.ask(`Value of ${name}`, { isSecret: true })
        : (await text(process.stdin)).replace(/\r?\n$/, '');
      if (value === '') throw new CommandFailure('usage', 'The secret is empty: type it, or pipe it in');
      await translated(() => keychain.store(name, value));
      if (terminal.json) return terminal.printJson({ stored: name });
      terminal.print(`Stored. Servers refer to it as \${keychain:${name}}`);
    });

  withGlobalFlags(group.command('remove'))
    .alias('rm')
    .description('remove a secret')
    .argument('<name>', 'name of the secret')
    .action(async (name: string, _options, self: Command) => {
      const terminal = terminalOf(self);
      const existed = await translated(() => keychain.remove(name));
      if (!existed) throw new CommandFailure('notFound', `The keychain has no secret "${name}"`);
      if (terminal.json) terminal.printJson({ removed: name });
      else terminal.print(`"${name}" removed.`);
    });
};

async function translated<T>(task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new CommandFailure('failed', error.message, { cause: error });
  }
}
