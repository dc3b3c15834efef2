import { BlockList, isIP } from 'node:net';

const addresses = new BlockList();
addresses.addSubnet('127.0.0.0', 8, 'ipv4');
addresses.addAddress('::1', 'ipv6');

/** Host names and addresses that are reachable only from this host. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  const family = isIP(name);
  if (family === 0) return name === 'localhost' || name.endsWith('.localhost');
  return addresses.check(name, family === 4 ? 'ipv4' : 'ipv6');
}
