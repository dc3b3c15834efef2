import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { decodeKey } from '../credential-key.ts';
import { AppError } from '../errors.ts';

export interface Vault {
  /** `context` binds the value to its owner (a server's id): a sealed value cannot be opened for another owner. */
  seal(value: unknown, context: string): string;
  open(sealed: string, context: string): unknown;
  /** A short, deterministic keyed hash (HMAC) of a value. */
  mark(value: string): string;
  isMarked(value: string, mark: string): boolean;
  /** Whether its key is known. */
  canOpen(sealed: string): boolean;
  /** True if the value was sealed with the previous key and should be sealed again. */
  needsReseal(sealed: string): boolean;
  readonly keyIds: { current: string; previous: string | undefined };
}

interface SealingKey {
  id: string;
  secret: Buffer;
}

const version = 'v1';
const ivBytes = 12;
const tagBytes = 16;
const markBytes = 15;

/** Seals values with AES-256-GCM under the current key; opens what the current or the previous key sealed. */
export function createVault({ current, previous }: { current: Buffer; previous?: Buffer }): Vault {
  const sealing = toKey(current);
  const keys = previous === undefined ? [sealing] : [sealing, toKey(previous)];

  return {
    seal(value, context) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', sealing.secret, iv).setAAD(Buffer.from(context));
      const body = [cipher.update(JSON.stringify(value), 'utf8'), cipher.final(), cipher.getAuthTag()];
      return [version, sealing.id, iv.toString('base64url'), Buffer.concat(body).toString('base64url')].join('.');
    },

    open(sealed, context) {
      const { keyId, iv, body } = parseSealed(sealed);
      const key = keys.find((candidate) => candidate.id === keyId);
      if (key === undefined) {
        throw unreadable(
          `it was sealed with key ${keyId}, the configured keys are ${keys.map((known) => known.id).join(' and ')}; ` +
            'set the old key as MCP_CREDENTIAL_KEY_PREVIOUS',
        );
      }
      const decipher = createDecipheriv('aes-256-gcm', key.secret, iv)
        .setAAD(Buffer.from(context))
        .setAuthTag(body.subarray(-tagBytes));
      try {
        const text = Buffer.concat([decipher.update(body.subarray(0, -tagBytes)), decipher.final()]);
        return JSON.parse(text.toString('utf8'));
      } catch (cause) {
        throw unreadable('it was changed or belongs to something else', cause);
      }
    },

    mark: (value) => markOf(sealing, value).toString('base64url'),

    isMarked(value, mark) {
      const given = Buffer.from(mark, 'base64url');
      return given.length === markBytes && keys.some((key) => timingSafeEqual(given, markOf(key, value)));
    },

    canOpen: (sealed) => keys.some(({ id }) => id === sealedWith(sealed)),
    needsReseal: (sealed) => parseSealed(sealed).keyId !== sealing.id,
    keyIds: { current: sealing.id, previous: keys[1]?.id },
  };
}

/** A key as people write it. */
export function parseKey(text: string): Buffer {
  const key = decodeKey(text);
  if (key === undefined) {
    throw new AppError(
      'CONFIGURATION_INVALID',
      'A credential key is 32 bytes in base64 or hex, for example the output of: openssl rand -base64 32',
    );
  }
  return key;
}

/** Identifies a key in stored values and messages without revealing it. */
export function keyIdOf(secret: Buffer): string {
  return createHash('sha256').update('key id').update(secret).digest('hex').slice(0, 8);
}

const toKey = (secret: Buffer): SealingKey => ({ id: keyIdOf(secret), secret });

/** The key that a value was sealed with; undefined if it is not a sealed value. */
export function sealedWith(sealed: string): string | undefined {
  const [format, keyId] = sealed.split('.');
  return format === version ? keyId : undefined;
}

function markOf({ secret }: SealingKey, value: string): Buffer {
  return createHmac('sha256', secret).update('mark').update(value).digest().subarray(0, markBytes);
}

function parseSealed(sealed: string): { keyId: string; iv: Buffer; body: Buffer } {
  const [format, keyId, iv, body] = sealed.split('.');
  if (format !== version || keyId === undefined || iv === undefined || body === undefined) {
    throw unreadable('it is not a sealed value');
  }
  const parts = { keyId, iv: Buffer.from(iv, 'base64url'), body: Buffer.from(body, 'base64url') };
  if (parts.iv.length !== ivBytes || parts.body.length < tagBytes) throw unreadable('it is not a sealed value');
  return parts;
}

function unreadable(reason: string, cause?: unknown): AppError {
  return new AppError('CREDENTIAL_UNREADABLE', `The stored connection config cannot be read: ${reason}`, { cause });
}
