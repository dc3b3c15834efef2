import type { Command } from 'commander';
import { api } from '../client.ts';
import { type AddCommand, createContext } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';

interface Report {
  key_id: string;
  previous_key_id: string | null;
  current: number;
  resealed: number;
  left: number;
  unreadable: string[];
}

export const addRotateKey: AddCommand = (program, environment) => {
  program
    .command('rotate-key')
    .description('seal all credentials with the current key, and report whether the previous key is still needed')
    .action(async (_options: unknown, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const report = await client.post<Report>(`${api}/credentials/reseal`);
      const { key_id, previous_key_id, current, left, unreadable } = report;
      if (terminal.json) terminal.printJson(report);
      else terminal.print(`${current} credentials are sealed with the current key ${key_id}.`);
      if (unreadable.length > 0) {
        throw new CommandFailure('failed', `Could not be opened with either key: ${unreadable.join(', ')}`);
      }
      if (left > 0) throw new CommandFailure('failed', `${left} changed during the rotation; run the command again.`);
      if (terminal.json) return;
      if (previous_key_id === null) terminal.print('No previous key is configured: nothing to do.');
      else
        terminal.print(`The key ${previous_key_id} is no longer needed: MCP_CREDENTIAL_KEY_PREVIOUS can be removed.`);
    });
};
