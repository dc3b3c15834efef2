import { readFileSync } from 'node:fs';
import { CommandFailure } from './exit-code.ts';

/** Undefined if there is no such file. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new CommandFailure(
      'denied',
      `${path} cannot be read (${code}); use --token, or run the command as the owner of the file`,
      { cause: error },
    );
  }
}
