import { CommandFailure } from './exit-code.ts';

/** Ranges are checked by the API. */
export function toNumber(text: string | undefined, what: string): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (text.trim() === '' || Number.isNaN(number))
    throw new CommandFailure('usage', `${what}: "${text}" is not a number`);
  return number;
}
