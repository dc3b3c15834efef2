import type { Command } from 'commander';
import { ensureRunning, findRunning, stopRunning } from '../background.ts';
import { type AddCommand, globalFlags } from '../command.ts';
import { addSettingFlags, withSettings } from '../setting-flags.ts';
import { createTerminal } from '../terminal.ts';

export const addStart: AddCommand = (program, environment) => {
  addSettingFlags(program.command('start'))
    .description('run the aggregator in the background')
    .action(async (_options, self: Command) => {
      const flags = globalFlags(self);
      const terminal = createTerminal({ json: flags.json === true, environment });
      const wanted = withSettings(environment, self);
      const before = await findRunning(flags, wanted);
      const { url } = before ?? (await terminal.progress('starting', () => ensureRunning(flags, wanted)));
      if (terminal.json) return terminal.printJson({ url, started: before === undefined });
      terminal.print(`The aggregator ${before === undefined ? 'is running' : 'was running already'} at ${url}`);
    });

  addSettingFlags(program.command('restart'))
    .description('stop the aggregator and run it again, for example after an upgrade')
    .action(async (_options, self: Command) => {
      const flags = globalFlags(self);
      const terminal = createTerminal({ json: flags.json === true, environment });
      const { url } = await terminal.progress('restarting', async () => {
        await stopRunning(flags, environment);
        return await ensureRunning(flags, withSettings(environment, self));
      });
      if (terminal.json) return terminal.printJson({ url });
      terminal.print(`The aggregator is running at ${url}`);
    });

  program
    .command('stop')
    .description('stop the aggregator that runs on this host')
    .action(async (_options, self: Command) => {
      const flags = globalFlags(self);
      const terminal = createTerminal({ json: flags.json === true, environment });
      const stopped = await terminal.progress('stopping', () => stopRunning(flags, environment));
      if (terminal.json) return terminal.printJson({ stopped });
      terminal.print(stopped ? 'The aggregator has stopped.' : 'No aggregator is running.');
    });
};
