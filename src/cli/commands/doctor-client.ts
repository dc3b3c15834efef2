import type { Command } from 'commander';
import { describe } from '../../errors.ts';
import { type AddCommand, createContext, withGlobalFlags } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { defaultName } from './connect-client.ts';

/** `doctor client`: checks that the entry in the config file of a client works. */
export const addDoctorClient: AddCommand = (doctor, environment) => {
  withGlobalFlags(doctor.command('client'))
    .description('check that a connected client can reach the aggregator, by sending the same requests')
    .argument('<client>', 'claude-desktop, claude-code, cursor, vscode, codex, windsurf, zed, gemini-cli or cline')
    .option('--name <name>', 'name of the aggregator in the client', defaultName)
    .action(async (id: string, { name }: { name: string }, self: Command) => {
      const { terminal } = createContext(self, environment);
      const { findClient, openClientFile, ownEntry } = await import('../connected-client.ts');
      const { checkEntry } = await import('../client-check.ts');
      const at = openClientFile(findClient(id), name, environment);
      const { client, file } = at;
      const entry = ownEntry(at);
      if (entry === undefined) {
        const advice = `Connect it: mcp-aggregator connect-client ${id}`;
        throw new CommandFailure('failed', `${client.title} has no entry "${name}" in ${file}\n${advice}`);
      }
      const checked = await terminal
        .progress(`connecting as ${client.title}`, () => checkEntry(entry, environment))
        .catch((error: unknown) => {
          throw new CommandFailure('failed', `The entry in ${file} does not work: ${describe(error)}`, {
            cause: error,
          });
        });
      const { server, tools } = checked;
      if (terminal.json) return terminal.printJson({ ok: true, client: id, file, server, tools });
      terminal.print(`ok  ${client.title} reaches ${server} and sees ${tools.length} tools (${file})`);
    });
};
