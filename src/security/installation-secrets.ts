/** Secrets of this installation, from the configuration or from generated files in the data directory. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { AppError } from '../errors.ts';
import { createVault, keyIdOf, parseKey, sealedWith } from './credentials.ts';
import { identityKeyFile } from './identity.ts';
import { loadOrCreateSecretFile, replaceSecretFile } from './secret-file.ts';
import type { Secrets } from './secrets.ts';

const keyFile = 'credential-key';
/** Written by `rotate-key --new`, until nothing is sealed with it any more. */
const previousKeyFile = 'credential-key.previous';

type KeyConfig = Pick<Config, 'dataDir' | 'databaseUrl' | 'credentialKey' | 'credentialKeyPrevious'>;

interface InstallationKeys {
  current?: Buffer;
  previous?: Buffer;
}

/** The keys as they are, before one is generated. A key in a variable makes the one in the file the previous one. */
export function readKeys(config: KeyConfig): InstallationKeys {
  const { credentialKey, credentialKeyPrevious: given } = config;
  const stored = readKey(config, keyFile);
  if (credentialKey === undefined) return { current: stored, previous: given ?? readKey(config, previousKeyFile) };
  const isOther = stored !== undefined && !stored.equals(credentialKey);
  return { current: credentialKey, previous: given ?? (isOther ? stored : undefined) };
}

/** Replicas get their keys from the configuration alone. */
function readKey({ dataDir, databaseUrl }: KeyConfig, name: string): Buffer | undefined {
  const path = join(dataDir, name);
  return databaseUrl === undefined && existsSync(path) ? parseKey(readFileSync(path, 'utf8').trim()) : undefined;
}

/** Before anything is changed: with the wrong key every server would fail. */
export function requireFittingKey(config: KeyConfig, sealed: readonly string[]): void {
  const { current, previous } = readKeys(config);
  const ours = [current, previous].flatMap((key) => (key === undefined ? [] : [keyIdOf(key)]));
  const used = new Set(sealed.map(sealedWith).filter((id) => id !== undefined));
  if (used.size === 0 || ours.some((id) => used.has(id))) return;
  const expected = [...used].join(', ');
  const problem =
    current === undefined
      ? `${join(config.dataDir, keyFile)} is missing; restore it, or set MCP_CREDENTIAL_KEY`
      : `the key is ${ours[0]}; set MCP_CREDENTIAL_KEY to the key that was used before, or restore ${join(config.dataDir, keyFile)}`;
  throw new AppError(
    'CONFIGURATION_INVALID',
    `Wrong credential key: the credentials in the database are sealed with the key ${expected}, and ${problem}. Nothing was changed.`,
  );
}

/** `secrets` masks them in logs from then on. */
export function loadInstallationSecrets(config: Config, secrets: Secrets) {
  const file = (name: string, create: () => string) => loadOrCreateSecretFile(join(config.dataDir, name), create).value;
  const found = readKeys(config);
  const current = found.current ?? parseKey(file(keyFile, () => randomBytes(32).toString('base64')));
  const keys = { current, previous: found.previous };
  const adminTokenFile = config.adminToken === undefined ? join(config.dataDir, 'admin-token') : undefined;
  const adminToken =
    config.adminToken ?? file('admin-token', () => `mcpa_admin_${randomBytes(32).toString('base64url')}`);
  const identityKey = file(identityKeyFile, () => randomBytes(32).toString('hex'));
  secrets.learn('admin', [adminToken, identityKey, ...spellings(current)]);
  return {
    vault: createVault(keys),
    auditKeys: keys,
    adminToken,
    adminTokenFile,
    identityKey,
    /** Everything is sealed with the current key: a start without the variable must find that one. */
    retireKeyFiles: () => retireKeyFiles(config, current),
  };
}

function retireKeyFiles(config: Config, current: Buffer): void {
  const stored = readKey(config, keyFile);
  if (stored !== undefined && !stored.equals(current))
    replaceSecretFile(join(config.dataDir, keyFile), current.toString('base64'));
  rmSync(join(config.dataDir, previousKeyFile), { force: true });
}

/** From the next start on, everything is sealed with a new key. */
export function prepareNewKey(dataDir: string): { keyId: string } {
  const before = readFileSync(join(dataDir, keyFile), 'utf8').trim();
  const next = randomBytes(32);
  replaceSecretFile(join(dataDir, previousKeyFile), before);
  replaceSecretFile(join(dataDir, keyFile), next.toString('base64'));
  return { keyId: keyIdOf(next) };
}

const spellings = (key: Buffer) => [key.toString('base64'), key.toString('base64url'), key.toString('hex')];
