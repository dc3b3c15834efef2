import { randomBytes } from 'node:crypto';

const ofThisProcess = randomBytes(8).toString('hex');
let given = 0;

/** Names a request or a call. Unique, but no secret: whoever knows one can guess the next. */
export function nextId(): string {
  given += 1;
  return `${ofThisProcess}-${given.toString(36)}`;
}
