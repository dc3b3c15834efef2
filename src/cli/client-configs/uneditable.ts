import { isDeepStrictEqual } from 'node:util';
import { CommandFailure } from '../exit-code.ts';

/** The file stays as it is: it is not valid, or an edit would change more than one server. */
export class UneditableConfig extends CommandFailure {
  constructor(message: string, cause?: unknown) {
    super('failed', message, { cause });
    this.name = 'UneditableConfig';
  }
}

/** Every edit is read again before it is used: a misread file must never cost a user a setting. */
export function checkEdit(name: string, readAgain: () => unknown, expected: unknown): void {
  let actual: unknown;
  try {
    actual = readAgain();
  } catch (error) {
    if (!(error instanceof UneditableConfig)) throw error;
  }
  if (isDeepStrictEqual(actual, expected)) return;
  throw new UneditableConfig(
    `The entry "${name}" cannot be edited without changing other settings of the file. Edit the file by hand.`,
  );
}
