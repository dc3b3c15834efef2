/**
 * Ids of legacy sessions. An id is sealed and carries what is needed to open the session again after a restart, or at
 * another replica: clients do not send `initialize` again when a session is unknown.
 */
import { randomBytes } from 'node:crypto';
import { isObject, type JsonObject } from '../json-rpc.ts';
import type { Vault } from '../security/credentials.ts';
import type { ScopeRequest } from './scope.ts';

export interface SessionSeed {
  /** Random; the key of what is stored about the session. */
  readonly key: string;
  readonly principal: string;
  readonly offer: ScopeRequest;
  /** Of `initialize`. */
  readonly params: JsonObject;
  readonly openedAt: number;
}

export interface SessionIds {
  create(seed: Pick<SessionSeed, 'principal' | 'offer' | 'params'>): { id: string; seed: SessionSeed };
  /** Undefined where the id is not one of this installation, or too old. */
  open(id: string): SessionSeed | undefined;
}

export const sessionLifetimeMs = 30 * 86_400_000;
const sealContext = 'mcp session';
/** An id is a header, and a header has its limits. */
const maxParamsBytes = 3_000;
const maxTextLength = 200;

export function createSessionIds(vault: Vault, replicaId: string): SessionIds {
  return {
    create({ principal, offer, params }) {
      const key = randomBytes(16).toString('base64url');
      const seed = { key, principal, offer, params: shortened(params), openedAt: Date.now() };
      return { id: `${replicaId}.${vault.seal(seed, sealContext)}`, seed };
    },
    open(id) {
      const seed = unseal(vault, id.slice(id.indexOf('.') + 1));
      return seed !== undefined && Date.now() - seed.openedAt < sessionLifetimeMs ? seed : undefined;
    },
  };
}

/** The replica that opened the session. */
export const replicaIn = (id: string): string | undefined => {
  const dot = id.indexOf('.');
  return dot === -1 ? undefined : id.slice(0, dot);
};

function unseal(vault: Vault, sealed: string): SessionSeed | undefined {
  try {
    return vault.open(sealed, sealContext) as SessionSeed;
  } catch {
    return undefined; // tampered with, or of another installation
  }
}

/** What a session keeps of `initialize`. Icons and the like only matter while the client is being introduced. */
export function shortened({ protocolVersion, capabilities, clientInfo }: JsonObject): JsonObject {
  const full = { protocolVersion, capabilities, clientInfo };
  if (isShort(full)) return full;
  const { name, version, title } = isObject(clientInfo) ? clientInfo : {};
  const named = {
    protocolVersion: beginningOf(protocolVersion),
    clientInfo: { name: beginningOf(name), version: beginningOf(version), title: beginningOf(title) },
  };
  const able = { ...named, capabilities };
  return isShort(able) ? able : { ...named, capabilities: questionsIn(capabilities) };
}

const isShort = (params: JsonObject): boolean => Buffer.byteLength(JSON.stringify(params)) <= maxParamsBytes;

const beginningOf = (text: unknown): string | undefined =>
  typeof text === 'string' ? text.slice(0, maxTextLength) : undefined;

/** Which questions of servers the client answers. */
function questionsIn(capabilities: unknown): JsonObject {
  const { roots, sampling, elicitation } = isObject(capabilities) ? capabilities : {};
  return {
    ...(isObject(roots) ? { roots: roots.listChanged === true ? { listChanged: true } : {} } : {}),
    ...(isObject(sampling) ? { sampling: {} } : {}),
    ...(isObject(elicitation)
      ? {
          elicitation: {
            ...(isObject(elicitation.form) ? { form: {} } : {}),
            ...(isObject(elicitation.url) ? { url: {} } : {}),
          },
        }
      : {}),
  };
}
