// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references as they stand in configs
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { resolveReferences } from '../../src/registry/resolve-connection.ts';
import { collectSecrets, maskConfig } from '../../src/security/connection-secrets.ts';
import { createMask } from '../../src/security/mask.ts';
import { loadOrCreateSecretFile } from '../../src/security/secret-file.ts';
import { substituteVariables } from '../../src/security/variables.ts';

test('a secret file is made once, readable by its owner only, and loose permissions are tightened', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'secret-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'admin-token');
  assert.deepEqual(
    loadOrCreateSecretFile(path, () => 'first'),
    { value: 'first', created: true },
  );
  assert.equal(statSync(path).mode & 0o777, 0o600);
  chmodSync(path, 0o644);
  assert.deepEqual(
    loadOrCreateSecretFile(path, () => 'second'),
    { value: 'first', created: false },
  );
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(directory), ['admin-token']);
});

test('SEC-002: variables are filled in at any depth and missing ones are named', () => {
  const config = {
    args: ['--token=${TOKEN}', '$HOME', 5],
    env: { A: '${TOKEN}-${REGION:-eu}', B: '${NONE} ${NONE} ${OTHER}', C: '${EMPTY}' },
  };
  const environment: Record<string, string> = { TOKEN: 'a$&b', EMPTY: '' };
  const { value, missing } = substituteVariables(config, ({ name }) => environment[name]);
  assert.deepEqual(value, {
    args: ['--token=a$&b', '$HOME', 5],
    env: { A: 'a$&b-eu', B: '${NONE} ${NONE} ${OTHER}', C: '' },
  });
  assert.deepEqual(
    missing.map(({ name }) => name),
    ['NONE', 'OTHER'],
  );
});

test('SEC-002: what every object has is no variable, and braces that lead nowhere stay', async () => {
  const sources = { keychain: async () => undefined, command: async () => '' };
  const resolve = (command: string) =>
    resolveReferences({ transport_type: 'STDIO', connection_config: { command } }, { A: '1' }, sources);
  await assert.rejects(resolve('${constructor} ${toString}'), /not set.*\$\{constructor\}, \$\{toString\}/);
  await assert.rejects(resolve('${keychain:__proto__}'), /no secret "__proto__"/);
  for (const [given, filled] of [
    ['${${A}', '${1'],
    ['${A', '${A'],
    ['${}${A}${ A }', '${}1${ A }'],
    ['${B:-${A}}', '${A}'],
  ] as const)
    assert.deepEqual((await resolve(given)).connection.connection_config, { command: filled });
});

test('an env file is a regular file of a bounded size', async () => {
  const sources = { keychain: async () => undefined, command: async () => '' };
  for (const env_file of ['/dev/zero', tmpdir()]) {
    const connection = { transport_type: 'STDIO', connection_config: { command: 'x', env_file } } as const;
    await assert.rejects(resolveReferences(connection, {}, sources), /env_file cannot be read: .*no regular file/);
  }
});

test('SEC-003, API-007: a config is shown with the names of its headers and variables only', () => {
  const config = { url: 'https://x', headers: { Authorization: 'Bearer ${TOKEN}' }, env: { KEY: 'abc', N: '' } };
  const masked = maskConfig(config);
  assert.deepEqual(masked, { url: 'https://x', headers: { Authorization: '***' }, env: { KEY: '***', N: '***' } });
  assert.equal(config.env.KEY, 'abc');
  assert.deepEqual(maskConfig({ command: 'node', env: {} }), { command: 'node', env: {} });
});

test('secrets are replaced in free text, in whole, without their scheme, quoted or encoded', () => {
  const secrets = collectSecrets({
    headers: { Authorization: 'Bearer s3cr3t+x' },
    env: { A: 's3cr3t', B: 'q"uote', C: '1' },
  });
  const mask = createMask(secrets);
  assert.equal(mask('refused Bearer s3cr3t+x'), 'refused ***');
  assert.equal(mask('token s3cr3t+x, s3cr3t%2Bx and s3cr3t in 1 text'), 'token ***, *** and *** in 1 text');
  assert.equal(mask(JSON.stringify({ b: 'q"uote' })), '{"b":"***"}');
  assert.equal(createMask(['1', 'abc'])('1 abc'), '1 abc');
});
