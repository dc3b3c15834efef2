/**
 * Tells modern clients apart. Each of their requests stands alone, but what a server keeps for a client has to be found
 * again by the client's next request. A client is known by its principal and the handle that it sends, else by its name
 * and capabilities; where a server keeps state or asks for roots, also by its roots, so that two projects stay apart.
 */
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { RpcError } from '../errors.ts';
import { type JsonObject, rpcCodes } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import { isToldApartByRoots } from '../registry/session-ownership.ts';
import type { SessionOwner } from '../upstream/owned-sessions.ts';
import type { ClientIdentity } from '../upstream/session.ts';
import { canAnswer, mayKeepRoots } from './client-questions.ts';
import type { ClientRequest } from './peer.ts';

/** One client as a single request of it shows it. */
export interface ModernClient {
  /** Who has the sessions with a server that only this client uses. */
  owner(server: Server): SessionOwner;
  /** As the client last said; undefined where it has to be asked. */
  readonly roots: JsonObject | undefined;
  learnRoots(answer: JsonObject): void;
}

export interface ModernClients {
  of(request: ClientRequest, identity: ClientIdentity): ModernClient;
  /** The client listens: `handle` gets what its own sessions say. What it returns is called when it no longer does. */
  attend(client: ModernClient, handle: SessionOwner['onNotification']): () => void;
  close(): void;
}

interface KnownRoots {
  roots: JsonObject;
  learnedAt: number;
}

/** Sent by `mcp-aggregator stdio`, and by any client that wants sessions of its own. */
export const handleHeader = 'mcp-aggregator-client';
const maxHandleLength = 256;
/** This revision has no notification of changed roots, so they are asked for again. */
const rootsLifetimeMs = 60_000;
const maxKnown = 10_000;

interface Memory {
  /** Roots by the key of the client, where the client sends a handle. */
  readonly byHandle: Map<string, KnownRoots>;
  /** The same, where only the connection shows that it is the same client. */
  readonly bySocket: WeakMap<Socket, Map<string, KnownRoots>>;
  /** By the key of the client: the streams that it listens on. */
  readonly attended: Map<string, Attended>;
}

interface Attended {
  /** One for each stream. */
  readonly handlers: Set<SessionOwner['onNotification']>;
  leaving?: NodeJS.Timeout;
}

interface ModernClientOptions {
  /** A client that listened and no longer does has this time to come back before its sessions end. */
  returnMs: number;
  release: (ownerKey: string) => Promise<void>;
}

export function createModernClients({ returnMs, release }: ModernClientOptions): ModernClients {
  const memory: Memory = { byHandle: new Map(), bySocket: new WeakMap(), attended: new Map() };
  const { attended } = memory;

  function leave(key: string): void {
    attended.delete(key);
    void release(key);
  }

  return {
    of: (incoming, identity) => new RequestClient(memory, incoming, identity),
    attend(client, handle) {
      if (!(client instanceof RequestClient)) return () => undefined;
      const { key } = client;
      const entry: Attended = attended.get(key) ?? { handlers: new Set() };
      attended.set(key, entry);
      clearTimeout(entry.leaving);
      entry.handlers.add(handle);
      return () => {
        entry.handlers.delete(handle);
        if (entry.handlers.size === 0) entry.leaving = setTimeout(() => leave(key), returnMs).unref();
      };
    },
    close() {
      for (const { leaving } of attended.values()) clearTimeout(leaving);
    },
  };
}

/** A class, because one is made for every request and most requests need none of it. */
class RequestClient implements ModernClient {
  readonly #memory: Memory;
  readonly #incoming: ClientRequest;
  readonly #identity: ClientIdentity;
  #key: string | undefined;
  #known: KnownRoots | undefined;

  constructor(memory: Memory, incoming: ClientRequest, identity: ClientIdentity) {
    this.#memory = memory;
    this.#incoming = incoming;
    this.#identity = identity;
  }

  get key(): string {
    const { info = null, capabilities } = this.#identity;
    this.#key ??= `modern:${this.#incoming.principal.id}:${digest(this.#handle ?? [info, capabilities])}`;
    return this.#key;
  }

  owner(server: Server): SessionOwner {
    const roots = isToldApartByRoots(server) ? this.roots : undefined;
    const key = roots === undefined ? this.key : `${this.key}:${digest(roots)}`;
    return {
      key,
      era: 'modern',
      client: this.#identity,
      isAskable: canAnswer(this.#identity.capabilities),
      leavesSilently: true,
      onNotification: (method, params, about) => {
        for (const handle of this.#memory.attended.get(this.key)?.handlers ?? []) handle(method, params, about);
      },
      onRequest: async (method) => answerOutsideCalls(method, this.roots ?? roots),
    };
  }

  get roots(): JsonObject | undefined {
    this.#known ??= this.#knownRoots()?.get(this.key);
    if (this.#known !== undefined && performance.now() - this.#known.learnedAt > rootsLifetimeMs)
      this.#known = undefined;
    return this.#known?.roots;
  }

  learnRoots(roots: JsonObject): void {
    this.#known = { roots, learnedAt: performance.now() };
    const known = this.#knownRoots();
    if (known === undefined || !mayKeepRoots(roots)) return;
    known.delete(this.key);
    known.set(this.key, this.#known);
    const [oldest] = known.keys();
    if (known.size > maxKnown && oldest !== undefined) known.delete(oldest);
  }

  get #handle(): string | undefined {
    const handle = this.#incoming.request.headers[handleHeader];
    return typeof handle === 'string' && handle !== '' ? handle.slice(0, maxHandleLength) : undefined;
  }

  /** Several clients may share the connection of a proxy, so it identifies none of them. */
  #knownRoots(): Map<string, KnownRoots> | undefined {
    const { headers, socket } = this.#incoming.request;
    if (this.#handle !== undefined) return this.#memory.byHandle;
    if (headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined || headers.via !== undefined)
      return undefined;
    const { bySocket } = this.#memory;
    const known = bySocket.get(socket) ?? new Map<string, KnownRoots>();
    bySocket.set(socket, known);
    return known;
  }
}

/** A server asks while none of the client's calls is in progress: only its roots are known. */
function answerOutsideCalls(method: string, roots: JsonObject | undefined): JsonObject {
  if (method === 'roots/list') return roots ?? { roots: [] };
  throw new RpcError(rpcCodes.internalError, 'The client cannot receive requests at the moment.');
}

const digest = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 16);
