/** Which signatures of an identity provider's tokens are accepted, and which forgeries are not. */
import assert from 'node:assert/strict';
import { constants, createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { anotherAddress, behindProxy, startApp, type TestApp } from '../support/app.ts';
import { type ScriptedServer, startScriptedServer } from './scripted-server.ts';

type Json = Record<string, unknown>;

const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
const raw = { dsaEncoding: 'ieee-p1363' } as const;
const methods: Record<string, { hash: string | null; pair: KeyPair; how?: object }> = {};

interface KeyPair {
  publicKey: KeyObject;
  privateKey: KeyObject;
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ed25519 = generateKeyPairSync('ed25519');
for (const size of ['256', '384', '512']) {
  const curve = { 256: 'P-256', 384: 'P-384', 512: 'P-521' }[size] ?? '';
  methods[`RS${size}`] = { hash: `sha${size}`, pair: rsa };
  methods[`PS${size}`] = { hash: `sha${size}`, pair: rsa, how: pss };
  methods[`ES${size}`] = { hash: `sha${size}`, pair: generateKeyPairSync('ec', { namedCurve: curve }), how: raw };
}
for (const name of ['EdDSA', 'Ed25519']) methods[name] = { hash: null, pair: ed25519 };

const weakRsa = generateKeyPairSync('rsa', { modulusLength: 1024 });
const forEncryption = generateKeyPairSync('rsa', { modulusLength: 2048 });
const onlyPss = generateKeyPairSync('rsa', { modulusLength: 2048 });
const unpublished = generateKeyPairSync('rsa', { modulusLength: 2048 });
const secret = Buffer.from('a-secret-that-is-published-by-mistake');

const published = (pair: KeyPair, more: Json) => ({ ...pair.publicKey.export({ format: 'jwk' }), ...more });
const keys = [
  'x',
  { kid: 7 },
  { kty: 'RSA', kid: 'RS256' },
  { kty: 'EC', crv: 'brainpoolP256r1', x: 'AA', y: 'AA', kid: 'ES256' },
  { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', kid: 'ES256' },
  { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', kid: 'broken' },
  ...Object.entries(methods).map(([kid, { pair }]) => published(pair, { kid })),
  published(weakRsa, { kid: 'weak' }),
  published(forEncryption, { kid: 'enc', use: 'enc' }),
  published(onlyPss, { kid: 'only-pss', alg: 'PS256' }),
  { kty: 'oct', k: secret.toString('base64url'), kid: 'oct' },
];

let provider: ScriptedServer;
let app: TestApp;
before(async () => {
  provider = await startScriptedServer({ keys });
  app = await startApp({
    ...behindProxy,
    MCP_AGGREGATOR_OIDC_ISSUER: provider.origin,
    MCP_AGGREGATOR_OIDC_AUDIENCE: 'us',
  });
});
after(async () => {
  await app?.close();
  await provider?.close();
});

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds;
const claimsWith = (more: Json = {}) => ({
  iss: provider.origin,
  sub: 'ada',
  aud: 'us',
  exp: inSeconds(60),
  ...more,
});
const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');

function make(head: Json, claims: Json, method = String(head.alg), pair = methods[method]?.pair): string {
  const unsigned = `${encode(head)}.${encode(claims)}`;
  const { hash = null, how = {} } = methods[method] ?? {};
  const key = pair?.privateKey as KeyObject;
  return `${unsigned}.${sign(hash, Buffer.from(unsigned), { key, ...how }).toString('base64url')}`;
}

function withSecret(head: Json, key: Buffer | string): string {
  const unsigned = `${encode(head)}.${encode(claimsWith())}`;
  return `${unsigned}.${createHmac('sha256', key).update(unsigned).digest('base64url')}`;
}

async function ask(token: string): Promise<{ status: number; said: string }> {
  const headers = { authorization: `Bearer ${token}`, ...anotherAddress() };
  const response = await fetch(`${app.url}/api/v1/aggregator/servers`, { headers });
  return { status: response.status, said: await response.text() };
}

suite('signatures of an identity provider', () => {
  for (const alg of Object.keys(methods)) {
    test(`${alg} is accepted, with the name of its key and without`, async () => {
      for (const head of [{ alg, kid: alg }, { alg }]) {
        const { status, said } = await ask(make(head, claimsWith()));
        assert.equal(status, 200, said);
      }
    });
  }

  const rs256 = { alg: 'RS256', kid: 'RS256' };
  const pem = rsa.publicKey.export({ format: 'pem', type: 'spki' });
  const forgeries: Record<string, { token: () => string; says?: RegExp }> = {
    'alg none': { token: () => `${encode({ alg: 'none' })}.${encode(claimsWith())}.AA` },
    'alg nOnE': { token: () => `${encode({ alg: 'nOnE' })}.${encode(claimsWith())}.AA` },
    'no alg': { token: () => make({ kid: 'RS256' }, claimsWith(), 'RS256') },
    'alg in an array': { token: () => make({ ...rs256, alg: ['RS256'] }, claimsWith(), 'RS256') },
    'HS256 with the public key as the secret': { token: () => withSecret({ alg: 'HS256', kid: 'RS256' }, pem) },
    'HS256 with a published secret': { token: () => withSecret({ alg: 'HS256', kid: 'oct' }, secret) },
    'RS256 that names a key of another kind': {
      token: () => make({ alg: 'RS256', kid: 'ES256' }, claimsWith()),
      says: /signature/,
    },
    'ES256 on the curve of ES384': {
      token: () => make({ alg: 'ES256', kid: 'ES384' }, claimsWith(), 'ES384'),
      says: /signature/,
    },
    'PS256 that claims to be RS256': { token: () => make(rs256, claimsWith(), 'PS256'), says: /signature/ },
    'RS256 with a key that is for PS256 only': {
      token: () => make({ alg: 'RS256', kid: 'only-pss' }, claimsWith(), 'RS256', onlyPss),
      says: /signature/,
    },
    'a key that is for encryption': {
      token: () => make({ alg: 'RS256', kid: 'enc' }, claimsWith(), 'RS256', forEncryption),
      says: /signature/,
    },
    'an RSA key of 1024 bits': {
      token: () => make({ alg: 'RS256', kid: 'weak' }, claimsWith(), 'RS256', weakRsa),
      says: /signature/,
    },
    'a key that is not published': {
      token: () => make({ alg: 'RS256', kid: 'RS256' }, claimsWith(), 'RS256', unpublished),
      says: /signature/,
    },
    'a name of a key that is not published': {
      token: () => make({ alg: 'RS256', kid: 'other' }, claimsWith(), 'RS256', unpublished),
      says: /signature/,
    },
    'a key in the header': {
      token: () => make({ ...rs256, jwk: published(unpublished, {}) }, claimsWith(), 'RS256', unpublished),
      says: /signature/,
    },
    'an address of keys in the header': {
      token: () => make({ ...rs256, jku: `${provider.origin}/jwks` }, claimsWith(), 'RS256', unpublished),
      says: /signature/,
    },
    'a path as the name of the key': {
      token: () => make({ alg: 'RS256', kid: '../../dev/null' }, claimsWith(), 'RS256', unpublished),
      says: /signature/,
    },
    'an extension that must be understood': {
      token: () => make({ ...rs256, crit: ['exp'] }, claimsWith(), 'RS256'),
    },
    'a payload that is not encoded': {
      token: () => make({ ...rs256, b64: false, crit: ['b64'] }, claimsWith(), 'RS256'),
    },
    'other claims under the signature': {
      token: () => {
        const [head, , signature] = make(rs256, claimsWith()).split('.');
        return `${head}.${encode(claimsWith({ sub: 'eve' }))}.${signature}`;
      },
      says: /signature/,
    },
    'a cut signature': { token: () => make(rs256, claimsWith()).slice(0, -8), says: /signature/ },
    'a signature of zeros': {
      token: () => {
        const [head, claims] = make({ alg: 'ES256', kid: 'ES256' }, claimsWith()).split('.');
        return `${head}.${claims}.${Buffer.alloc(64).toString('base64url')}`;
      },
      says: /signature/,
    },
    'an ES256 signature in DER': {
      token: () => {
        const [head, claims] = make({ alg: 'ES256', kid: 'ES256' }, claimsWith()).split('.');
        const key = methods.ES256?.pair.privateKey as KeyObject;
        return `${head}.${claims}.${sign('sha256', Buffer.from(`${head}.${claims}`), key).toString('base64url')}`;
      },
      says: /signature/,
    },
    'claims that are no object': { token: () => make(rs256, [claimsWith()] as unknown as Json) },
    'no subject': { token: () => make(rs256, claimsWith({ sub: undefined })) },
    'an empty subject': { token: () => make(rs256, claimsWith({ sub: '' })) },
    'no end': { token: () => make(rs256, claimsWith({ exp: undefined })) },
    'an end that is text': { token: () => make(rs256, claimsWith({ exp: String(inSeconds(60)) })) },
    'an end that is over': { token: () => make(rs256, claimsWith({ exp: inSeconds(-60) })), says: /expired/ },
    'a beginning to come': { token: () => make(rs256, claimsWith({ nbf: inSeconds(600) })), says: /not valid yet/ },
    'a time of issue that is text': { token: () => make(rs256, claimsWith({ iat: 'now' })), says: /claim iat/ },
    'a broken key': { token: () => make({ alg: 'ES256', kid: 'broken' }, claimsWith()), says: /signature/ },
    'another audience': { token: () => make(rs256, claimsWith({ aud: ['them'] })), says: /another audience/ },
    'another issuer': { token: () => make(rs256, claimsWith({ iss: 'https://evil.example' })), says: /another issuer/ },
    'issuers in an array': { token: () => make(rs256, claimsWith({ iss: [provider.origin] })) },
  };
  for (const [name, { token, says = /not a supported JWT/ }] of Object.entries(forgeries)) {
    test(`${name} is refused`, async () => {
      const { status, said } = await ask(token());
      assert.equal(status, 401, said);
      assert.match(said, says);
    });
  }

  test('a little difference between the clocks is no reason to refuse', async () => {
    assert.equal((await ask(make(rs256, claimsWith({ exp: inSeconds(-10) })))).status, 200);
    assert.equal((await ask(make(rs256, claimsWith({ nbf: inSeconds(10) })))).status, 200);
  });
});
