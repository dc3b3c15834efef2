/**
 * Fetches addresses that others chose: metadata of servers and of their authorization servers. A server that
 * means harm would name addresses inside of our network (SSRF), so: https only, every address that a name resolves to
 * is checked, the connection goes to the address that was checked, and redirects are checked like the first address.
 */
import { type LookupAddress, lookup } from 'node:dns';
import { BlockList, isIP } from 'node:net';
import { AppError } from '../errors.ts';
import { isLoopback } from '../loopback.ts';

export interface FetchedAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** Undefined where the body is not JSON. */
  json: unknown;
}

interface FetchOptions {
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string;
}

export interface GuardedFetch {
  (url: string, trust: Trust, options?: FetchOptions): Promise<FetchedAnswer>;
  close(): Promise<void>;
}

/** What an admin configured: such hosts may be private; a server on this machine may have everything on it. */
export interface Trust {
  hosts: ReadonlySet<string>;
  loopback: boolean;
}

/** Trust that follows from the addresses an admin configured. */
export function trustIn(configured: readonly string[]): Trust {
  const hosts = configured.map((url) => new URL(url).hostname);
  return { hosts: new Set(hosts), loopback: hosts.some(isLoopback) };
}

const timeoutMs = 10_000;
const maxBytes = 1_048_576;
const maxRedirects = 3;

export function createGuardedFetch(): GuardedFetch {
  let client: ReturnType<typeof loadClient> | undefined;

  async function guarded(url: string, trust: Trust, options: FetchOptions = {}): Promise<FetchedAnswer> {
    client ??= loadClient();
    const { request, strict, trusted } = await client;
    let target = url;
    for (let hop = 0; hop <= maxRedirects; hop += 1) {
      const checked = checkAddress(target, trust);
      const { statusCode, headers, body } = await request(target, {
        ...options,
        dispatcher: checked === 'trusted' ? trusted : strict,
        signal: AbortSignal.timeout(timeoutMs),
      });
      const { location } = headers;
      // Only reading follows redirects: a form with credentials goes to the address that was meant, or nowhere.
      if (statusCode >= 300 && statusCode < 400 && typeof location === 'string' && options.method !== 'POST') {
        await body.dump();
        target = new URL(location, target).href;
        continue;
      }
      return { status: statusCode, headers, json: parseJson(await readText(body)) };
    }
    throw new AppError('EXECUTION_FAILED', `${new URL(url).host} redirects too often`);
  }

  return Object.assign(guarded, {
    async close() {
      if (client === undefined) return;
      const { strict, trusted } = await client;
      await Promise.all([strict.destroy(), trusted.destroy()]);
    },
  });
}

/** All of undici is a hundred modules, which only logins need. */
async function loadClient() {
  const { Agent, request } = await import('undici');
  return {
    request,
    strict: new Agent({ connect: { lookup: lookupPublic, timeout: timeoutMs }, keepAliveTimeout: 1_000 }),
    trusted: new Agent({ connect: { timeout: timeoutMs }, keepAliveTimeout: 1_000 }),
  };
}

/** Throws unless the address may be asked; names are checked again when they are resolved. */
export function checkAddress(url: string, trust: Trust): 'trusted' | 'strict' {
  const { protocol, hostname, username, password } = parseUrl(url);
  if (username !== '' || password !== '') throw refused(url, 'it contains credentials');
  if (trust.loopback && isLoopback(hostname) && (protocol === 'http:' || protocol === 'https:')) return 'trusted';
  if (protocol !== 'https:') throw refused(url, 'it is not https');
  if (trust.hosts.has(hostname)) return 'trusted';
  if (isLoopback(hostname)) throw refused(url, 'it is on this machine');
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0 && isPrivate(address)) throw refused(url, 'it is in a private network');
  return 'strict';
}

function parseUrl(url: string): URL {
  if (!URL.canParse(url)) throw refused(url, 'it is not a URL');
  return new URL(url);
}

const internal = new BlockList();
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  internal.addSubnet(net, bits, 'ipv4');
}
for (const [net, bits] of [
  ['::', 128],
  ['::1', 128],
  ['64:ff9b::', 96],
  ['100::', 64],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const) {
  internal.addSubnet(net, bits, 'ipv6');
}

/** BlockList also matches IPv4 addresses written as IPv6 (`::ffff:10.0.0.1`). */
export function isPrivate(address: string): boolean {
  return internal.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

type LookupDone = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/** The connection takes what this answers, so a name that resolves differently a moment later changes nothing. */
function lookupPublic(hostname: string, options: { all?: boolean }, done: LookupDone): void {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error !== null) return done(error, []);
    const [first] = found;
    if (first === undefined || found.some(({ address }) => isPrivate(address))) {
      return done(refused(`https://${hostname}`, 'it is in a private network'), []);
    }
    if (options.all === true) return done(null, found);
    done(null, first.address, first.family);
  });
}

function refused(url: string, reason: string): AppError {
  const shown = URL.canParse(url) ? new URL(url).host : 'an invalid address';
  return new AppError('EXECUTION_FAILED', `Request to ${shown} blocked: ${reason}`);
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of body) {
    length += part.length;
    if (length > maxBytes) throw new AppError('EXECUTION_FAILED', `the response is larger than ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // an HTML page and the like: the caller decides what its absence means
  }
}
