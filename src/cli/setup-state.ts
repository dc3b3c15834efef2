/** What `setup` did, so that `setup --undo` can take it back. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface SetupState {
  /** The directory did not exist before. */
  createdDataDir: boolean;
  /** No aggregator was running before. */
  started: boolean;
  service: boolean;
  /** Ids of the clients that were connected. */
  clients: string[];
  /** Ids of the servers that were registered. */
  servers: string[];
}

const fileIn = (dataDir: string) => join(dataDir, 'setup.json');

export function readSetup(dataDir: string): SetupState | undefined {
  return existsSync(fileIn(dataDir)) ? (JSON.parse(readFileSync(fileIn(dataDir), 'utf8')) as SetupState) : undefined;
}

/** Written after every step: an interrupted set-up can be taken back, too. */
export function writeSetup(dataDir: string, state: SetupState): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  writeFileSync(fileIn(dataDir), `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
}

export function forgetSetup(dataDir: string): void {
  rmSync(fileIn(dataDir), { force: true });
}
