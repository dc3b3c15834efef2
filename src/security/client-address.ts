/** The client address of a request: the nearest address that is not a trusted proxy. */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';

/** Named networks. */
const named: Record<string, readonly string[]> = {
  loopback: ['127.0.0.0/8', '::1'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

type Request = Pick<IncomingMessage, 'headers' | 'socket'>;

/**
 * X-Forwarded-For is a list that every proxy appends to, and its beginning can be forged: it is read from its end, and
 * only as far as trusted proxies wrote it.
 */
export function createClientAddress(trustedProxies: readonly string[]): (request: Request) => string {
  if (trustedProxies.length === 0) return peerOf;
  const isTrusted = createProxyCheck(trustedProxies);

  return (request) => {
    const forwarded = request.headers['x-forwarded-for'];
    let address = peerOf(request);
    if (forwarded === undefined) return address;
    for (const before of String(forwarded).split(',').reverse()) {
      const candidate = before.trim();
      if (!isTrusted(address) || isIP(candidate) === 0) break;
      address = candidate;
    }
    return address;
  };
}

/** Returns a function that checks whether an address is a trusted proxy. */
export function createProxyCheck(trustedProxies: readonly string[]): (address: string) => boolean {
  const trusted = new BlockList();
  for (const entry of trustedProxies.flatMap((proxy) => named[proxy] ?? [proxy])) {
    const [address = '', bits] = entry.split('/');
    const family = familyOf(address);
    if (bits === undefined) trusted.addAddress(address, family);
    else trusted.addSubnet(address, Number(bits), family);
  }
  return (address) => isIP(address) !== 0 && trusted.check(address, familyOf(address));
}

/** With IPv6, a client usually has a complete /64 network. */
export function networkOf(address: string): string {
  if (latest.address !== address) latest = { address, network: toNetwork(address) };
  return latest.network;
}

/** Most requests come from the address of the one before. */
let latest = { address: '', network: '' };

function toNetwork(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  return [...before, ...new Array<string>(Math.max(zeros, 0)).fill('0'), ...after].slice(0, 4).join(':');
}

const peerOf = ({ socket }: Request): string => socket.remoteAddress ?? '';
const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4');
