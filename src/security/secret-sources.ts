/** Where the secrets come from that connections refer to. */
import { CommandError, runForOutput, splitWords } from './command-output.ts';
import { createKeychain } from './keychain.ts';

/** Asked at every connection, so that a changed secret is used from the next one on. */
export function createSecretSources(environment: Readonly<NodeJS.ProcessEnv>) {
  return {
    keychain: createKeychain(environment).read,
    async command(line: string): Promise<string> {
      const [command, ...args] = splitWords(line);
      if (command === undefined) throw new CommandError('the command is empty');
      return await runForOutput([command, ...args], { environment });
    },
  };
}
