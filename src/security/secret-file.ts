import { chmodSync, closeSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const ownerOnly = 0o600;

/** Reads a secret from a file, or generates it once; only the owner can read the file. */
export function loadOrCreateSecretFile(path: string, create: () => string): { value: string; created: boolean } {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  if (mode === undefined) return { value: writeSecret(path, create()), created: true };
  if ((mode & 0o077) !== 0 && process.platform !== 'win32') chmodSync(path, ownerOnly);
  return { value: readFileSync(path, 'utf8').trim(), created: false };
}

/** Replaces the secret, or creates the file. */
export function replaceSecretFile(path: string, value: string): void {
  writeSecret(path, value);
}

/** Written atomically and synced before use, because a lost key makes all stored configs unreadable. */
function writeSecret(path: string, value: string): string {
  const file = openSync(`${path}.new`, 'w', ownerOnly);
  writeFileSync(file, `${value}\n`);
  fsyncSync(file);
  closeSync(file);
  renameSync(`${path}.new`, path);
  // Windows cannot open a directory, and its rename needs no sync.
  if (process.platform !== 'win32') {
    const directory = openSync(dirname(path), 'r');
    fsyncSync(directory);
    closeSync(directory);
  }
  return value;
}
