import { chmodSync, closeSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const ownerOnly = 0o600;

/** A secret that is made once and kept in a file only its owner can read. */
export function loadOrCreateSecretFile(path: string, create: () => string): { value: string; created: boolean } {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  if (mode === undefined) return { value: writeSecret(path, create()), created: true };
  if ((mode & 0o077) !== 0) chmodSync(path, ownerOnly);
  return { value: readFileSync(path, 'utf8').trim(), created: false };
}

/** Whole or not at all, and on the disk before anything is sealed with it: a lost key loses every stored config. */
function writeSecret(path: string, value: string): string {
  const file = openSync(`${path}.new`, 'w', ownerOnly);
  writeFileSync(file, `${value}\n`);
  fsyncSync(file);
  closeSync(file);
  renameSync(`${path}.new`, path);
  // Windows can't open a directory, and its rename is on the disk by itself.
  if (process.platform !== 'win32') {
    const directory = openSync(dirname(path), 'r');
    fsyncSync(directory);
    closeSync(directory);
  }
  return value;
}
