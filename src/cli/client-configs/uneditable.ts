import { isDeepStrictEqual } from 'node:util';
import { CommandFailure } from '../exit-code.ts';

/** The file cannot be edited: it is invalid, or an edit would change more than one server. */
export class UneditableConfig extends CommandFailure {
  constructor(message: string, cause?: unknown) {
    super('failed', message, { cause });
    this.name = 'UneditableConfig';
  }
}

/** Parses every edit again before it is used, so that a misread file never loses a setting. */
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
