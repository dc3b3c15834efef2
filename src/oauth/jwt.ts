/** Access tokens of an identity provider, checked by hand: fixed algorithms, keys that fit them, times, issuer. */
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import { ExpiredToken } from '../security/auth.ts';
import { findIssuer } from './discovery.ts';
import { type GuardedFetch, trustIn } from './guarded-fetch.ts';

/** Never what the token itself proposes: `none` and shared secrets are not among them, whatever it says. */
const algorithms = {
  RS256: { hash: 'sha256', type: 'rsa', curve: undefined },
  ES256: { hash: 'sha256', type: 'ec', curve: 'prime256v1' },
  EdDSA: { hash: null, type: 'ed25519', curve: undefined },
} as const;

const header = z.looseObject({
  alg: z.enum(['RS256', 'ES256', 'EdDSA']),
  kid: z.string().optional(),
  // An extension that must be understood is one that we do not.
  crit: z.undefined().optional(),
});

const claims = z.looseObject({
  iss: z.string(),
  sub: z.string().min(1),
  aud: z.union([z.string(), z.array(z.string())]).optional(),
  exp: z.number(),
  nbf: z.number().optional(),
});
export type Claims = z.infer<typeof claims>;

const clockToleranceSeconds = 30;

interface Keys {
  find(kid: string | undefined, alg: keyof typeof algorithms): Promise<KeyObject[]>;
}

export async function verifyJwt(token: string, issuer: string, keys: Keys, now = Date.now()): Promise<Claims> {
  const [first = '', second = '', third = '', ...more] = token.split('.');
  const head = header.safeParse(decode(first));
  const body = claims.safeParse(decode(second));
  if (more.length > 0 || !head.success || !body.success) throw invalid('the token is not a JWT that we can check');
  // The issuer first: nothing of another issuer's is worth asking for keys.
  if (body.data.iss !== issuer) throw invalid('the token is from another issuer');
  const { alg, kid } = head.data;
  const signed = Buffer.from(`${first}.${second}`);
  const signature = Buffer.from(third, 'base64url');
  const candidates = await keys.find(kid, alg);
  const { hash } = algorithms[alg];
  if (!candidates.some((key) => verify(hash, signed, { key, dsaEncoding: 'ieee-p1363' }, signature))) {
    throw invalid('the signature of the token is not valid');
  }
  const seconds = now / 1_000;
  if (body.data.exp + clockToleranceSeconds <= seconds) throw new ExpiredToken();
  if (body.data.nbf !== undefined && body.data.nbf - clockToleranceSeconds > seconds) {
    throw invalid('the token is not valid yet');
  }
  return body.data;
}

export function looksLikeJwt(token: string): boolean {
  return /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/.test(token);
}

export function invalid(reason: string): AppError {
  return new AppError('UNAUTHENTICATED', `Not authenticated: ${reason}`);
}

function decode(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
  } catch {
    return undefined; // reported as no JWT
  }
}

const jsonKey = z.looseObject({ kty: z.string(), kid: z.string().optional(), use: z.string().optional() });
const keySet = z.looseObject({ keys: z.array(z.unknown()) });

interface KnownKey {
  kid: string | undefined;
  key: KeyObject;
}

const keysLifetimeMs = 600_000;
/** A stranger can name any key; asking the issuer for each would make us their tool. */
const minGapMs = 1_000;

/** The issuer's keys: kept for a while, read again when a token names one that is new. */
export function createIssuerKeys(fetch: GuardedFetch, issuer: string): Keys {
  const trust = trustIn([issuer]);
  let known: KnownKey[] = [];
  let readAt = 0;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    const metadata = await findIssuer(fetch, issuer, trust);
    if (metadata?.jwks_uri === undefined) throw new AppError('EXECUTION_FAILED', `${issuer} publishes no keys`);
    const answer = await fetch(metadata.jwks_uri, trust, { headers: { accept: 'application/json' } });
    const parsed = keySet.safeParse(answer.json);
    if (!parsed.success) throw new AppError('EXECUTION_FAILED', `${issuer} publishes keys that are no key set`);
    known = parsed.data.keys.flatMap(toKey);
    readAt = Date.now();
  }

  async function refresh(): Promise<void> {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    await reading;
  }

  const matching = (kid: string | undefined, alg: keyof typeof algorithms) =>
    known.filter((one) => (kid === undefined || one.kid === kid) && fits(one.key, alg)).map(({ key }) => key);

  return {
    async find(kid, alg) {
      const age = Date.now() - readAt;
      if (age > keysLifetimeMs) await refresh();
      const found = matching(kid, alg);
      if (found.length > 0 || age < minGapMs) return found;
      await refresh();
      return matching(kid, alg);
    },
  };
}

function toKey(published: unknown): KnownKey[] {
  const { data: jwk } = jsonKey.safeParse(published);
  // Secret keys, keys for other uses, and kinds to come.
  if (jwk === undefined || (jwk.use ?? 'sig') !== 'sig' || !['RSA', 'EC', 'OKP'].includes(jwk.kty)) return [];
  try {
    return [{ kid: jwk.kid, key: createPublicKey({ key: jwk, format: 'jwk' }) }];
  } catch {
    return []; // a curve that we do not know, or a broken key: the others are as good as before
  }
}

/** An RSA key must not check a signature that claims to be of another kind. */
function fits(key: KeyObject, alg: keyof typeof algorithms): boolean {
  const { type, curve } = algorithms[alg];
  return key.asymmetricKeyType === type && (curve === undefined || key.asymmetricKeyDetails?.namedCurve === curve);
}
