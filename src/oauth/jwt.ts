/** Access tokens of an identity provider: fixed algorithms, keys that fit them, times, issuer. jose checks the signature. */
import type { JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import { AppError } from '../errors.ts';
import { ExpiredToken } from '../security/auth.ts';
import { findIssuer } from './discovery.ts';
import { type GuardedFetch, trustIn } from './guarded-fetch.ts';

/** Never what the token itself proposes: `none` and shared secrets are not among them, whatever it says. */
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

const header = z.looseObject({
  alg: z.enum(algorithms),
  kid: z.string().optional(),
  // An extension that must be understood is one that we do not.
  crit: z.undefined().optional(),
});
type Header = z.infer<typeof header>;

const claims = z.looseObject({
  iss: z.string(),
  sub: z.string().min(1),
  aud: z.union([z.string(), z.array(z.string())]).optional(),
  exp: z.number(),
  nbf: z.number().optional(),
});
export type Claims = z.infer<typeof claims>;

export const clockToleranceSeconds = 30;

type SigningKey = Awaited<ReturnType<JWTVerifyGetKey>>;

interface IssuerKeys {
  find(header: Header): Promise<SigningKey[]>;
}

export async function verifyJwt(token: string, issuer: string, keys: IssuerKeys, now = Date.now()): Promise<Claims> {
  const [first = '', second = '', ...others] = token.split('.');
  const head = header.safeParse(decode(first));
  const body = claims.safeParse(decode(second));
  if (others.length !== 1 || !head.success || !body.success) throw invalid('the token is not a supported JWT');
  // The issuer first: nothing of another issuer's is worth asking for keys.
  if (body.data.iss !== issuer) throw invalid('the token is from another issuer');
  for (const key of await keys.find(head.data)) {
    if (await isSignedBy(token, key, head.data.alg, now)) return body.data;
  }
  throw invalid('the signature of the token is not valid');
}

async function isSignedBy(token: string, key: SigningKey, alg: string, now: number): Promise<boolean> {
  const { errors, jwtVerify } = await loadJose();
  try {
    await jwtVerify(token, key, {
      algorithms: [alg],
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(now),
    });
    return true;
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw new ExpiredToken();
    if (error instanceof errors.JWTClaimValidationFailed) {
      throw invalid(error.claim === 'nbf' ? 'the token is not valid yet' : `its claim ${error.claim} is not valid`);
    }
    // A TypeError tells of a key that is too weak for the algorithm.
    if (error instanceof errors.JOSEError || error instanceof TypeError) return false;
    throw error;
  }
}

/** Only with an identity provider: 15 MB that the others need not carry. */
const loadJose = () => import('jose');

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

const keySet = z.looseObject({ keys: z.array(z.unknown()) });
const jsonKey = z.looseObject({ kty: z.string() });

const keysLifetimeMs = 600_000;
/** A stranger can name any key; asking the issuer for each would make us their tool. */
const minGapMs = 1_000;

/** The issuer's keys: kept for a while, read again when a token names one that is new. */
export function createIssuerKeys(fetch: GuardedFetch, issuer: string): IssuerKeys {
  const trust = trustIn([issuer]);
  let known: JWTVerifyGetKey | undefined;
  let readAt = 0;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    const metadata = await findIssuer(fetch, issuer, trust);
    if (metadata?.jwks_uri === undefined) throw new AppError('EXECUTION_FAILED', `${issuer} publishes no keys`);
    const answer = await fetch(metadata.jwks_uri, trust, { headers: { accept: 'application/json' } });
    const parsed = keySet.safeParse(answer.json);
    if (!parsed.success) throw new AppError('EXECUTION_FAILED', `${issuer} publishes an invalid key set`);
    const { createLocalJWKSet } = await loadJose();
    known = createLocalJWKSet({ keys: parsed.data.keys.flatMap((key) => jsonKey.safeParse(key).data ?? []) });
    readAt = Date.now();
  }

  async function refresh(): Promise<void> {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    await reading;
  }

  return {
    async find(head) {
      const age = Date.now() - readAt;
      if (age > keysLifetimeMs) await refresh();
      const found = await matching(known, head);
      if (found.length > 0 || age < minGapMs) return found;
      await refresh();
      return matching(known, head);
    },
  };
}

/** The keys that fit the header by name, kind, use and algorithm; a token without a name may fit several. */
async function matching(known: JWTVerifyGetKey | undefined, head: Header): Promise<SigningKey[]> {
  const { errors } = await loadJose();
  try {
    return known === undefined ? [] : [await known(head, { payload: '', signature: '' })];
  } catch (error) {
    if (error instanceof errors.JWKSMultipleMatchingKeys) return await collect(error);
    // None fits, or the one that does is broken: the others are as good as before.
    if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException) return [];
    throw error;
  }
}

async function collect(keys: AsyncIterable<SigningKey>): Promise<SigningKey[]> {
  const found: SigningKey[] = [];
  for await (const key of keys) found.push(key);
  return found;
}
