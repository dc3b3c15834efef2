/**
 * Names. Canonical `server.tool` is what we store and show; the wire name is what MCP clients accept: only
 * `[A-Za-z0-9_-]`, short enough for every client's limit, and a function of the two names alone, so that it stays the
 * same whatever else is registered.
 */
import { createHash } from 'node:crypto';

/** Clients allow 60 to 64 characters and put a prefix of their own before it. */
export const wireNameLimit = 50;
const hashLength = 8;

export function toCanonical(server: string, tool: string): string {
  return `${server}.${tool}`;
}

/** EC-002: only the first dot separates, because server names have none. */
export function fromCanonical(name: string): { server: string; tool: string } | undefined {
  const dot = name.indexOf('.');
  return dot <= 0 || dot === name.length - 1 ? undefined : { server: name.slice(0, dot), tool: name.slice(dot + 1) };
}

export function toWireName(server: string, tool: string): string {
  const plain = `${server}__${tool}`;
  if (plain.length <= wireNameLimit && isUnmistakable(server, tool)) return plain;
  const hash = shortHash(`${server}.${tool}`);
  const room = wireNameLimit - hashLength - 1;
  const shownTool = clean(tool).slice(0, Math.max(room - 2 - server.length, Math.floor(room * 0.6)));
  const shownServer = clean(server).slice(0, room - 2 - shownTool.length);
  return `${shownServer}__${shownTool}_${hash}`;
}

/**
 * With these, the first `__` of the wire name is the separator, so no two tools share it. What looks like a hash gets
 * one: a server must not be able to take the name of another one's tool by calling its own tool that.
 */
function isUnmistakable(server: string, tool: string): boolean {
  return (
    /^[A-Za-z0-9_-]+$/.test(tool) &&
    !tool.startsWith('_') &&
    !server.includes('__') &&
    !server.endsWith('_') &&
    !looksHashed.test(tool)
  );
}

/** Begins with a digit, so that words such as `_document` do not look like one. */
const looksHashed = /_[0-9][0-9a-z]{7}$/;

function clean(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]+/g, '_');
}

function shortHash(text: string): string {
  const value = createHash('sha256').update(text).digest().readBigUInt64BE();
  const digit = (value % 10n).toString();
  return `${digit}${(value / 10n)
    .toString(36)
    .padStart(hashLength, '0')
    .slice(1 - hashLength)}`;
}
