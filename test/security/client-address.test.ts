import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { suite, test } from 'node:test';
import { loadConfig } from '../../src/config/config.ts';
import { createClientAddress } from '../../src/security/client-address.ts';

function addressOf(proxies: string, peer: string, forwarded?: string): string {
  const { trustedProxies } = loadConfig({ MCP_AGGREGATOR_TRUSTED_PROXIES: proxies });
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  const request = { headers, socket: { remoteAddress: peer } as IncomingMessage['socket'] };
  return createClientAddress(trustedProxies)(request);
}

suite('the address of a client', () => {
  test('nobody is believed who is not trusted', () => {
    assert.equal(addressOf('', '203.0.113.9', '198.51.100.7'), '203.0.113.9');
    assert.equal(addressOf('10.0.0.0/8', '203.0.113.9', '198.51.100.7'), '203.0.113.9');
    assert.equal(addressOf('10.0.0.1', '10.0.0.2', '198.51.100.7'), '10.0.0.2');
    assert.equal(addressOf('10.0.0.1', '10.0.0.1'), '10.0.0.1');
  });

  test('the nearest address that is no proxy of ours; what stands before it is hearsay', () => {
    assert.equal(addressOf('10.0.0.0/8', '10.0.0.1', '198.51.100.7'), '198.51.100.7');
    assert.equal(addressOf('10.0.0.0/8', '10.0.0.1', '1.1.1.1, 198.51.100.7, 10.2.3.4'), '198.51.100.7');
    assert.equal(addressOf('10.0.0.0/8', '10.0.0.1', '10.9.9.9,10.2.3.4'), '10.9.9.9');
    assert.equal(addressOf('10.0.0.1,10.0.0.2', '10.0.0.1', '198.51.100.7,10.0.0.2'), '198.51.100.7');
  });

  test('networks by name, IPv6, and IPv4 written as IPv6', () => {
    for (const [name, peer] of [
      ['loopback', '127.0.0.1'],
      ['loopback', '127.9.9.9'],
      ['loopback', '::1'],
      ['linklocal', '169.254.1.1'],
      ['uniquelocal', '172.31.0.1'],
      ['uniquelocal', '192.168.1.1'],
      ['uniquelocal', 'fd00::1'],
      ['10.0.0.0/8', '::ffff:10.0.0.1'],
      ['2001:db8::/32', '2001:db8::5'],
    ] as const)
      assert.equal(addressOf(name, peer, '2001:db9::1'), '2001:db9::1', `${name} ${peer}`);
    assert.equal(addressOf('uniquelocal', '172.32.0.1', '198.51.100.7'), '172.32.0.1');
  });

  test('what is no address is not passed on', () => {
    for (const nonsense of ['unknown', '', '<script>', 'a'.repeat(9_000), '1.2.3.4.5'])
      assert.equal(addressOf('loopback', '127.0.0.1', nonsense), '127.0.0.1');
    assert.equal(addressOf('loopback', '127.0.0.1', '1.1.1.1, junk, 127.0.0.2'), '127.0.0.2');
  });
});
