/** Whether a server may be reached over http: credentials in its headers can be read on the way. */
import { BlockList, isIP } from 'node:net';
import { isLoopback } from '../loopback.ts';

/** Not 169.254.0.0/16, where clouds answer with their own credentials. */
const privateNetworks = new BlockList();
for (const [network, bits] of [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
] as const)
  privateNetworks.addSubnet(network, bits, 'ipv4');
privateNetworks.addSubnet('fc00::', 7, 'ipv6');

/** Names that no public name server knows: of a service in Compose or Kubernetes, or of a host in a home network. */
const privateName = /^[^.]+$|\.(?:local|lan|internal|home\.arpa|svc|svc\.cluster\.local)$/;

/** `allowed`: hosts, with a port or beginning with `*.`, or `private` for all private addresses and names. */
export function isSecureEnough(url: string, allowed: readonly string[]): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname, host } = new URL(url);
  if (protocol === 'https:') return true;
  if (protocol !== 'http:') return false;
  if (isLoopback(hostname)) return true;
  return allowed.some((entry) => {
    if (entry === 'private') return isPrivate(hostname);
    return entry.startsWith('*.') ? hostname.endsWith(entry.slice(1)) : entry === hostname || entry === host;
  });
}

function isPrivate(hostname: string): boolean {
  const name = hostname.replace(/^\[|\]$/g, '');
  const family = isIP(name);
  return family === 0 ? privateName.test(name) : privateNetworks.check(name, family === 4 ? 'ipv4' : 'ipv6');
}
