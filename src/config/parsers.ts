/** Parsers for the values of settings. Error messages continue a sentence that begins with the setting. */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { decodeKey } from '../credential-key.ts';

export type Parse<T> = (text: string) => T;

export interface ChildUser {
  uid: number;
  gid: number;
  name?: string;
  home: string;
}

export function text(value: string): string {
  return value;
}

export function path(value: string): string {
  return resolve(value.replace(/^~(?=\/|$)/, homedir()));
}

export function list(value: string): string[] {
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

export function childUser(value: string): ChildUser {
  const numbers = /^(\d{1,10}):(\d{1,10})$/.exec(value);
  if (numbers !== null) return { uid: Number(numbers[1]), gid: Number(numbers[2]), home: '/' };
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${value}:`));
  const [name, , uid, gid, , home = '/'] = line?.split(':') ?? [];
  if (name === undefined) throw new Error('is not a user of this host and not uid:gid');
  return { uid: Number(uid), gid: Number(gid), name, home };
}

export function networks(value: string): string[] {
  for (const entry of list(value)) {
    if (/^(?:loopback|linklocal|uniquelocal)$/.test(entry)) continue;
    const [address = '', bits, ...more] = entry.split('/');
    const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
    const isSubnet = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
    if (most === -1 || !isSubnet || more.length > 0)
      throw new Error('contains an entry that is not an address or a network');
  }
  return list(value);
}

export function httpHosts(value: string): string[] {
  for (const entry of list(value)) {
    if (!/^(\*\.)?[a-z0-9._-]+(:\d{1,5})?$|^\[[0-9a-f:.]+\](:\d{1,5})?$/i.test(entry))
      throw new Error('contains an entry that is not private, a host, host:port or *.domain');
  }
  return list(value.toLowerCase());
}

export function boolean(value: string): boolean {
  if (/^(true|1|yes|on)$/i.test(value)) return true;
  if (/^(false|0|no|off)$/i.test(value)) return false;
  throw new Error('is neither true nor false');
}

export function integer(least: number, most: number): Parse<number> {
  return (value) => {
    const number = Number(value);
    if (!Number.isInteger(number) || number < least || number > most) {
      throw new Error(`is not a whole number from ${least} to ${most}`);
    }
    return number;
  };
}

export function share(value: string): number {
  const number = Number(value);
  if (value.trim() === '' || !(number >= 0 && number <= 1)) throw new Error('is not a number from 0 to 1');
  return number;
}

export function seconds(least: number, most: number): Parse<number> {
  return (value) => {
    const number = Number(value);
    if (!(number >= least && number <= most)) throw new Error(`is not a number of seconds from ${least} to ${most}`);
    return Math.round(number * 1_000);
  };
}

export function oneOf<const T extends string>(...choices: T[]): Parse<T> {
  return (value) => {
    const choice = choices.find((candidate) => candidate === value);
    if (choice === undefined) throw new Error(`is not one of ${choices.join(', ')}`);
    return choice;
  };
}

export function atLeast(length: number): Parse<string> {
  return (value) => {
    if (value.length < length) throw new Error(`is shorter than ${length} characters`);
    return value;
  };
}

export function url(...protocols: string[]): Parse<string> {
  return (value) => {
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol)) {
      throw new Error(`is not a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
    }
    return value;
  };
}

export function origin(value: string): string {
  const checked = url('http:', 'https:')(value);
  if (new URL(checked).origin !== checked.replace(/\/$/, '')) throw new Error('is not an address without a path');
  return new URL(checked).origin;
}

export function rolePairs(value: string): string[] {
  const pairs = list(value);
  if (pairs.every((pair) => /^(admin|caller|viewer)=./.test(pair))) return pairs;
  throw new Error('is not a list of role=value, where role is admin, caller or viewer');
}

export function profilePairs(value: string): string[] {
  const pairs = list(value);
  if (pairs.every((pair) => /^[^=]+=./.test(pair))) return pairs;
  throw new Error('is not a list of profile=value');
}

export function key(value: string): Buffer {
  const bytes = decodeKey(value);
  if (bytes === undefined) throw new Error('is not 32 bytes in base64 or hex');
  return bytes;
}
