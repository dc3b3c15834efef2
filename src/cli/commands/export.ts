import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { api } from '../client.ts';
import { type AddCommand, createContext } from '../command.ts';

interface Backup {
  key_id: string;
  servers: unknown[];
  tokens: unknown[];
}

export const addExport: AddCommand = (program, environment) => {
  program
    .command('export')
    .description('export the configuration: servers with sealed credentials, tokens as hashes')
    .argument('[file]', 'output file; defaults to standard output')
    .action(async (file: string | undefined, _options: unknown, self: Command) => {
      const { client, terminal } = createContext(self, environment);
      const backup = await client.get<Backup>(`${api}/backup`);
      if (file === undefined) return terminal.printJson(backup);
      writeFileSync(file, `${JSON.stringify(backup, null, 2)}\n`, { mode: 0o600 });
      if (terminal.json) return terminal.printJson({ file, servers: backup.servers.length, key_id: backup.key_id });
      terminal.print(`Exported ${backup.servers.length} servers and ${backup.tokens.length} tokens to ${file}.`);
      terminal.print(
        `Keep the key ${backup.key_id} (MCP_CREDENTIAL_KEY): the credentials cannot be opened without it.`,
      );
    });
};
