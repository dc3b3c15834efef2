import type { Command } from 'commander';
import { version } from '../../version.ts';
import { type AddCommand, globalFlags } from '../command.ts';

export const addVersion: AddCommand = (program) => {
  program
    .command('version')
    .description('print the version')
    .action((_options, self: Command) => {
      const { node } = process.versions;
      console.log(
        globalFlags(self).json ? JSON.stringify({ version, node }) : `mcp-aggregator ${version}, Node ${node}`,
      );
    });
};
