// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as they stand in configs
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createLog } from '../../src/log.ts';
import { collectSecrets, holdsCredential, maskConfig, maskUrl } from '../../src/security/connection-secrets.ts';
import { createMask, maskBeginning } from '../../src/security/mask.ts';
import { createSecrets } from '../../src/security/secrets.ts';

const secret = 'pa+ss/w0rd "q" \u00e9\u{1f511}';

test('a secret is recognised in every spelling, alone and within something longer', () => {
  const mask = createMask([secret]);
  const bytes = Buffer.from(secret);
  const spellings = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(JSON.stringify(secret)).slice(3, -3),
    encodeURIComponent(secret),
    encodeURIComponent(secret).toLowerCase(),
    new URLSearchParams({ v: secret }).toString().slice(2),
    bytes.toString('base64'),
    bytes.toString('base64url'),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
  ];
  for (const spelling of spellings) assert.equal(mask(`<${spelling}>`), '<***>');
  for (const before of ['', 'u', 'us', 'use', 'user:']) {
    const shown = mask(Buffer.from(`${before}${secret}${before}`).toString('base64'));
    assert.match(shown, /\*\*\*/);
    assert.ok(shown.length < 3 + 2 * 10, shown);
  }
});

test('secrets that overlap or touch are hidden whole', () => {
  const mask = createMask(['abcdefgh', 'efghijkl', 'ijklmnopqrst']);
  assert.equal(mask('<abcdefghijkl>'), '<***>');
  assert.equal(mask('<abcdefghijklmnopqrst>'), '<***>');
  assert.equal(mask('abcdefghabcdefgh efghijkl abcdefg'), '*** *** abcdefg');
});

test('a PEM is hidden whole, line by line, with \\n spelt out, and as base64 that is broken into lines', () => {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2_048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  hidesAll(privateKey);
});

test('a text is hidden wherever its encoding is broken into lines, whatever its length', () => {
  for (let length = 300; length < 400; length += 1) {
    const secret = randomBytes(length).toString('base64url').slice(0, length);
    const mask = createMask([secret]);
    const encoded = Buffer.from(secret).toString('base64');
    for (const columns of [64, 76]) {
      const lines = encoded.match(new RegExp(`.{1,${columns}}`, 'g')) ?? [];
      for (const line of lines.slice(0, -1)) assert.equal(mask(line), '***', `${length} ${line}`);
    }
    assert.equal(mask(encoded), '***');
  }
});

function hidesAll(privateKey: string): void {
  const inner = privateKey.split('\n').filter((line) => line !== '' && !line.startsWith('-----'));
  const oneLine = privateKey.replaceAll('\n', '\\n');
  for (const given of [privateKey, oneLine, privateKey.replaceAll('\n', '\r\n')]) {
    const mask = createMask([given]);
    for (const line of inner.filter(({ length }) => length === 64)) assert.equal(mask(`key: ${line}`), 'key: ***');
    for (const printed of [privateKey, oneLine, JSON.stringify({ privateKey })]) {
      for (const line of inner.slice(0, -1)) assert.ok(!mask(printed).includes(line));
    }
  }
  const mask = createMask([privateKey]);
  assert.ok(!mask(privateKey).includes(inner.at(-1) ?? ''));
  const encoded = Buffer.from(privateKey).toString('base64');
  for (const columns of [64, 76]) {
    const lines = encoded.match(new RegExp(`.{1,${columns}}`, 'g')) ?? [];
    for (const line of lines.slice(0, -1)) assert.equal(mask(line), '***');
  }
  assert.equal(mask('-----BEGIN PRIVATE KEY-----'), '-----BEGIN PRIVATE KEY-----');
}

test('a secret of 60,000 characters, and many of them, neither throw nor show', () => {
  const long = randomBytes(30_000).toString('hex');
  const secrets = createSecrets();
  for (let count = 0; count < 20; count += 1) secrets.learn(`${count}`, [randomBytes(15_000).toString('base64')]);
  secrets.learn('long', [long, 'another-secret']);
  assert.equal(secrets.mask(`a ${long} b another-secret c`), 'a *** b *** c');
  assert.equal(secrets.mask(`a ${long.slice(0, 1_000)} b`).length < 100, true);
});

test('the time is linear in the text, whatever the secrets are', () => {
  const mask = createMask(['a'.repeat(30_000), `${'a'.repeat(63)}b`, ...alike()]);
  const scans: [string, (size: number) => string][] = [
    ['the beginning of secrets over and over', (size) => `${'a'.repeat(31)}c`.repeat(size / 32)],
    ['secrets over and over', (size) => 'a'.repeat(size)],
    ['ordinary text', (size) => 'The quick brown fox. '.repeat(size / 21)],
  ];
  for (const [name, textOf] of scans) {
    const times = [64, 64, 4_096].map((kilobytes) => {
      const text = textOf(kilobytes * 1_024);
      return timeOf(() => mask(text));
    });
    // From 64 KB to 4 MB, in which six doublings of a quadratic scan would be a factor of 4,096.
    const growth = (times[2] ?? 0) / Math.max(times[1] ?? 0, 0.5);
    assert.ok(growth < 3 ** 6, `${name}: ${times.map((ms) => ms.toFixed(1)).join(' ')} ms`);
  }
});

test('a text without end is masked before it is cut, and never ends within a secret', () => {
  const long = randomBytes(24).toString('hex');
  const mask = createMask([long]);
  for (const printed of [long.repeat(3_000), `${'x'.repeat(480)}${long}`, `${'x'.repeat(65_500)}${long.repeat(9)}`]) {
    const shown = maskBeginning(printed, mask, 500);
    for (let at = 0; at + 8 <= long.length; at += 1) assert.ok(!shown.includes(long.slice(at, at + 8)), shown);
  }
});

test('what a server chose is hidden in its own text and in no other', () => {
  const secrets = createSecrets();
  secrets.learnFrom('evil', 'oauth:evil', ['error_code', 'mcp-aggregator is listening']);
  secrets.learn('good', ['configured-secret']);
  const text = 'error_code configured-secret';
  assert.equal(secrets.mask(text), 'error_code ***');
  assert.equal(secrets.mask(text, 'good'), 'error_code ***');
  assert.equal(secrets.mask(text, 'evil'), '*** ***');
  assert.deepEqual(secrets.maskJson({ error_code: 1 }), { error_code: 1 });
  secrets.forget('oauth:evil');
  assert.equal(secrets.mask(text, 'evil'), 'error_code ***');
});

test('a line of the log that cannot be masked is replaced by a fixed text', () => {
  const lines: string[] = [];
  const mask = () => {
    throw new Error('the pattern is s3cr3t');
  };
  createLog('info', { mask, destination: { write: (line) => void lines.push(line) } }).error('s3cr3t');
  assert.equal(lines.length, 1);
  assert.ok(!lines[0]?.includes('s3cr3t'));
});

test('URLs are shown without user info, values of the query and keys in the path', () => {
  const shown = {
    'https://x.example/mcp': 'https://x.example/mcp',
    'https://x.example/mcp?api_key=abc&flag#part': 'https://x.example/mcp?api_key=***&***#***',
    'https://ann:s@cret@x.example:8443/': 'https://***@x.example:8443/',
    'https://x.example/s/9f3a2b7c1d5e8f60/mcp': 'https://x.example/s/***/mcp',
    'https://${HOST}/mcp?k=${KEY}': 'https://${HOST}/mcp?k=***',
    '${URL}': '${URL}',
  };
  for (const [url, expected] of Object.entries(shown)) assert.equal(maskUrl(url), expected);
  assert.equal(holdsCredential('https://x/health?api_key=1'), true);
  assert.equal(holdsCredential('https://x/health?deep=1'), false);
});

test('secrets in arguments are found by their flag, by their looks and by their variable', () => {
  const args = [
    ...['-y', '@modelcontextprotocol/server-filesystem@2025.11.25', '/home/ann/projects', '--port=8080', '--verbose'],
    ...['--api-key=plain-words-only', '--token', 'other-plain-words', '-e', 'DB_PASSWORD=third-plain-words'],
    ...['--header', 'Authorization: Bearer fourth-plain-words', 'postgres://ann:fifth-words@db.example/main?sslkey=6'],
    ...['ghp_abcdefghijklmnopqrstuvwxyz12', '--v=${VALUE}', '--secret=${VALUE}'],
  ];
  assert.deepEqual(maskConfig({ args }).args, [
    ...['-y', '@modelcontextprotocol/server-filesystem@2025.11.25', '/home/ann/projects', '--port=8080', '--verbose'],
    ...['--api-key=***', '--token', '***', '-e', 'DB_PASSWORD=***'],
    ...['--header', 'Authorization: ***', 'postgres://***@db.example/main?sslkey=***'],
    ...['***', '--v=${VALUE}', '--secret=${VALUE}'],
  ]);
  const found = collectSecrets({ args }, new Map(Object.entries({ VALUE: 'substituted', HOME: '/home/ann' })));
  const expected = ['plain-words-only', 'other-plain-words', 'third-plain-words', 'fourth-plain-words', 'fifth-words'];
  for (const value of [...expected, 'ghp_abcdefghijklmnopqrstuvwxyz12', 'substituted'])
    assert.ok(found.includes(value));
  for (const value of ['/home/ann', '/home/ann/projects', '-y', '8080']) assert.ok(!found.includes(value), value);
});

function alike(): string[] {
  return Array.from({ length: 200 }, (_, count) => `sk-proj-${String(count).repeat(8)}`);
}

function timeOf(work: () => unknown): number {
  // Of the processor, so that a busy machine changes little.
  const started = process.cpuUsage();
  work();
  return process.cpuUsage(started).user / 1_000;
}
