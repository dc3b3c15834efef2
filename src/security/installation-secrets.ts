/** Secrets of this installation, from the configuration or from generated files in the data directory. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { createVault, parseKey } from './credentials.ts';
import { loadOrCreateSecretFile } from './secret-file.ts';
import type { Secrets } from './secrets.ts';

/** `secrets` masks them in logs from then on. */
export function loadInstallationSecrets(config: Config, secrets: Secrets) {
  const file = (name: string, create: () => string) => loadOrCreateSecretFile(join(config.dataDir, name), create).value;
  const current = config.credentialKey ?? parseKey(file('credential-key', () => randomBytes(32).toString('base64')));
  const keys = { current, previous: config.credentialKeyPrevious };
  const adminTokenFile = config.adminToken === undefined ? join(config.dataDir, 'admin-token') : undefined;
  const adminToken =
    config.adminToken ?? file('admin-token', () => `mcpa_admin_${randomBytes(32).toString('base64url')}`);
  secrets.learn('admin', [adminToken, ...spellings(current)]);
  return { vault: createVault(keys), auditKeys: keys, adminToken, adminTokenFile };
}

const spellings = (key: Buffer) => [key.toString('base64'), key.toString('base64url'), key.toString('hex')];
