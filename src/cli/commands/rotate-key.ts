import type { Command } from 'commander';
import { prepareNewKey } from '../../security/installation-secrets.ts';
import { api } from '../client.ts';
import { type AddCommand, createContext, globalFlags } from '../command.ts';
import { CommandFailure } from '../exit-code.ts';
import { dataDirOf } from '../target.ts';

interface Report {
  key_id: string;
  key_source: 'file' | 'variable';
  previous_key_id: string | null;
  previous_was_used: boolean;
  current: number;
  resealed: number;
  left: number;
  unreadable: string[];
}

export const addRotateKey: AddCommand = (program, environment) => {
  program
    .command('rotate-key')
    .description('seal all credentials with the current key, and report whether another key is still needed')
    .option('--new', 'make a new key for the embedded database; it is used from the next start on')
    .action(async (options: { new?: boolean }, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const report = await client.post<Report>(`${api}/credentials/reseal`, {});
      if (report.unreadable.length > 0) {
        throw new CommandFailure('failed', `Could not be opened with either key: ${report.unreadable.join(', ')}`);
      }
      if (report.left > 0)
        throw new CommandFailure('failed', `${report.left} changed during the rotation; run the command again.`);
      const prepared = options.new ? prepare(report, dataDirOf(globalFlags(self), environment)) : undefined;
      if (terminal.json)
        return terminal.printJson({ ...report, ...(prepared === undefined ? {} : { next_key_id: prepared.keyId }) });
      terminal.print(`${report.current} credentials are sealed with the current key ${report.key_id}.`);
      terminal.say(
        prepared === undefined
          ? adviceFor(report)
          : `The new key ${prepared.keyId} is in the data directory. Restart the aggregator: then everything is sealed with it, and the old key is deleted.`,
      );
    });
};

function prepare({ key_source, previous_key_id }: Report, dataDir: string): { keyId: string } {
  if (key_source === 'variable') {
    throw new CommandFailure(
      'usage',
      'The key comes from MCP_CREDENTIAL_KEY: set a new one there, and the old one as MCP_CREDENTIAL_KEY_PREVIOUS.',
    );
  }
  if (previous_key_id !== null)
    throw new CommandFailure('conflict', 'A new key was made already: restart the aggregator first.');
  return prepareNewKey(dataDir);
}

function adviceFor({ key_source, previous_key_id: previous, previous_was_used: wasUsed }: Report): string {
  if (previous === null) {
    return key_source === 'file'
      ? 'No other key is configured. To change the key: mcp-aggregator rotate-key --new'
      : 'No other key is configured: nothing to do.';
  }
  return wasUsed
    ? `The old key ${previous} is no longer needed. If MCP_CREDENTIAL_KEY_PREVIOUS is set, remove it.`
    : `The key ${previous} (MCP_CREDENTIAL_KEY_PREVIOUS) has sealed nothing yet: keep it. If it is your next key, make it MCP_CREDENTIAL_KEY now, and the current one MCP_CREDENTIAL_KEY_PREVIOUS.`;
}
