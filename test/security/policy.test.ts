import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '../../src/security/auth.ts';
import { isSecureEnough } from '../../src/security/plain-http.ts';
import { checkHost, checkOrigin, childEnvironment, maySee, originsOf, requireRole } from '../../src/security/policy.ts';

const principal = (role: Principal['role'], servers: string[] | null = null): Principal => ({
  id: role,
  name: role,
  role,
  servers: servers && new Set(servers),
  profile: null,
});

test('SEC-005: a role includes the lower ones', () => {
  const roles = ['viewer', 'caller', 'admin'] as const;
  for (const [has, own] of roles.entries()) {
    for (const [needs, required] of roles.entries()) {
      const check = () => requireRole(principal(own), required);
      if (has >= needs) check();
      else
        assert.throws(check, {
          code: 'FORBIDDEN',
          message: `This requires the role ${required}; ${own} has the role ${own}`,
        });
    }
  }
});

test('a token with a list of servers sees no other', () => {
  assert.equal(maySee(principal('caller'), 'any'), true);
  assert.equal(maySee(principal('caller', ['a']), 'a'), true);
  assert.equal(maySee(principal('caller', ['a']), 'b'), false);
  assert.equal(maySee(principal('caller', []), 'a'), false);
});

test('a loopback listener answers to loopback names only', () => {
  const listener = { boundHost: '127.0.0.1', boundPort: 8081, allowedHosts: [] };
  for (const host of ['localhost:8081', '127.0.0.1:8081', 'LOCALHOST', '[::1]:8081', 'app.localhost:1', '127.0.0.2']) {
    checkHost(host, listener);
  }
  const evil = ['evil.example:8081', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.1', 'localhost@evil'];
  for (const host of [...evil, 'evil/localhost', '', undefined]) {
    assert.throws(() => checkHost(host, listener), { code: 'HOST_NOT_ALLOWED' }, `${host}`);
  }
  checkHost('tools.example:8081', { ...listener, allowedHosts: ['tools.example'] });
  checkHost('tools.example:8081', { ...listener, allowedHosts: ['tools.example:8081'] });
  assert.throws(() => checkHost('tools.example:81', { ...listener, allowedHosts: ['tools.example:8081'] }));
});

test('other listeners answer to every name unless some are listed', () => {
  const listener = { boundHost: '0.0.0.0', boundPort: 8081, allowedHosts: [] };
  checkHost('gateway.example', listener);
  checkHost('10.0.0.1:8081', listener);
  assert.throws(() => checkHost('other.example', { ...listener, allowedHosts: ['gateway.example'] }));
  checkHost('localhost:8081', { ...listener, allowedHosts: ['gateway.example'] });
  assert.throws(() => checkHost('a b', listener), { code: 'HOST_NOT_ALLOWED' });
});

test('SEC-007: the public address is ours on any port, and the error names the settings', () => {
  const publicUrl = 'https://mcp.example.com';
  const local = { boundHost: '127.0.0.1', boundPort: 8081, allowedHosts: [], publicUrl };
  for (const host of ['mcp.example.com', 'MCP.example.com:443', 'mcp.example.com:8443']) checkHost(host, local);
  assert.throws(() => checkHost('evil.example', local), {
    code: 'HOST_NOT_ALLOWED',
    message: /evil\.example; .* MCP_AGGREGATOR_ALLOWED_HOSTS, or set MCP_AGGREGATOR_PUBLIC_URL/,
  });
  checkHost('10.0.0.1:8081', { ...local, boundHost: '0.0.0.0' });
  checkHost('mcp.example.com', { ...local, boundHost: '0.0.0.0', allowedHosts: ['other.example'] });
  checkOrigin(publicUrl, 'internal:8081', originsOf({ allowedOrigins: [], publicUrl }));
  assert.throws(
    () => checkOrigin('https://evil.example', 'internal:8081', originsOf({ allowedOrigins: [], publicUrl })),
    {
      code: 'ORIGIN_NOT_ALLOWED',
      message: /https:\/\/evil\.example; add it to MCP_AGGREGATOR_ALLOWED_ORIGINS/,
    },
  );
});

test('SEC-007: an Origin is absent, our own, on this machine, or listed', () => {
  checkOrigin(undefined, 'localhost:8081', []);
  checkOrigin('http://localhost:8081', 'localhost:8081', []);
  checkOrigin('http://127.0.0.1:6274', 'localhost:8081', []);
  checkOrigin('https://gateway.example', 'gateway.example:443', []);
  checkOrigin('https://app.example', 'gateway.example', ['https://app.example']);
  for (const origin of [
    'https://evil.example',
    'null',
    '',
    'http://localhost.evil.example',
    'https://app.example:444',
  ]) {
    assert.throws(() => checkOrigin(origin, 'localhost:8081', ['https://app.example']), { code: 'ORIGIN_NOT_ALLOWED' });
  }
  assert.throws(() => checkOrigin('http://localhost:3000', 'gateway.example', []), { code: 'ORIGIN_NOT_ALLOWED' });
});

test('SEC-004: servers are spoken to over https, on this machine, or where plain http was allowed', () => {
  const cases: [url: string, allowed: string[], isAllowed: boolean][] = [
    ['https://example.com/mcp', [], true],
    ['http://localhost:1', [], true],
    ['http://127.0.0.1/x', [], true],
    ['http://[::1]:5/', [], true],
    ['http://example.com', [], false],
    ['http://10.0.0.1', [], false],
    ['ftp://localhost', [], false],
    ['ws://localhost', ['private'], false],
    ['nonsense', ['private'], false],
    ['http://gitea-mcp:8080', ['private'], true],
    ['http://mcp.default.svc.cluster.local', ['private'], true],
    ['http://nas.local/mcp', ['private'], true],
    ['http://192.168.1.7/mcp', ['private'], true],
    ['http://172.31.0.1', ['private'], true],
    ['http://172.32.0.1', ['private'], false],
    ['http://100.100.1.1', ['private'], true],
    ['http://[fd00::1]/mcp', ['private'], true],
    ['http://169.254.169.254/latest', ['private'], false],
    ['http://example.com', ['private'], false],
    ['http://local.example.com', ['private'], false],
    ['http://mcp.example.com/x', ['mcp.example.com'], true],
    ['http://mcp.example.com:8080/x', ['mcp.example.com'], true],
    ['http://mcp.example.com:8080/x', ['mcp.example.com:9090'], false],
    ['http://a.example.com', ['*.example.com'], true],
    ['http://example.com.evil.net', ['*.example.com', 'example.com'], false],
  ];
  for (const [url, allowed, isAllowed] of cases)
    assert.equal(isSecureEnough(url, allowed), isAllowed, `${url} with ${allowed.join(', ')}`);
});

test('SEC-008: on Windows a variable is the same in whichever case it is written', () => {
  assert.deepEqual(childEnvironment({ Path: 'a', TEMP: 't' }, { PATH: 'b' }, 'win32'), { TEMP: 't', PATH: 'b' });
  assert.deepEqual(childEnvironment({ Path: 'a' }, { PATH: 'b' }, 'linux'), { Path: 'a', PATH: 'b' });
});

test('SEC-008: a child gets an allow-list of our environment and its own variables', () => {
  const ours = {
    Path: '/bin',
    HOME: '/home/ann',
    LC_ALL: 'C',
    XDG_CACHE_HOME: '/c',
    https_proxy: 'http://p',
    LC_HACK: '() { :; }; echo',
    MCP_CREDENTIAL_KEY: 'secret',
    ANTHROPIC_API_KEY: 'secret',
    DATABASE_URL: 'secret',
    NODE_OPTIONS: '--inspect',
  };
  assert.deepEqual(childEnvironment(ours, { HOME: '/elsewhere', TOKEN: 't' }), {
    Path: '/bin',
    HOME: '/elsewhere',
    LC_ALL: 'C',
    XDG_CACHE_HOME: '/c',
    https_proxy: 'http://p',
    TOKEN: 't',
  });
});
