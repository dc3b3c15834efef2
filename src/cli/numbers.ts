import { CommandFailure } from './exit-code.ts';

/** Whether the number is one that the API takes is for the API to say. */
export function toNumber(text: string | undefined, what: string): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (text.trim() === '' || Number.isNaN(number)) throw new CommandFailure('usage', `${what}: "${text}" is no number`);
  return number;
}
