/**
 * `requestState` of 2026-07-28: what a client sends back with the answers to questions. It is sealed for the caller and
 * the request that it was made for.
 */
import { createHash } from 'node:crypto';
import { rpcCodes } from '../json-rpc.ts';
import type { Vault } from '../security/credentials.ts';
import { ProtocolError } from './adapt-result.ts';
import type { McpCall } from './peer.ts';

interface RequestState {
  /** A parked call's, `login` or `again` for a retry that begins anew, `server` for what a server keeps itself. */
  id: string;
  digest: string;
  principal: string;
  expires: number;
  /** Whose state it is, and what it said. */
  server?: string;
  theirs?: unknown;
}

export interface RequestStates {
  seal(
    call: Pick<McpCall, 'method' | 'params' | 'caller'>,
    about: Pick<RequestState, 'id' | 'server' | 'theirs'>,
    lifetimeMs?: number,
  ): string;
  /** Undefined if it was not sealed here. */
  open(sealed: unknown): RequestState | undefined;
  /** What the call brought, if it was given to this principal for this very request; throws otherwise. */
  admit(call: McpCall): RequestState;
}

/** How long a client may take to answer. */
export const answerTimeoutMs = 300_000;

export function createRequestStates(vault: Vault): RequestStates {
  function open(sealed: unknown): RequestState | undefined {
    if (typeof sealed !== 'string') return undefined;
    try {
      return vault.open(sealed, 'requestState') as RequestState;
    } catch {
      return undefined; // tampered with, or another deployment's
    }
  }

  return {
    open,
    seal(call, { id, server, theirs }, lifetimeMs = answerTimeoutMs) {
      const principal = call.caller.principal.id;
      const expires = Date.now() + lifetimeMs;
      const state: RequestState = { id, digest: digestOf(call), principal, server, theirs, expires };
      return vault.seal(state, 'requestState');
    },
    admit(call) {
      const state = open(call.params.requestState);
      if (state === undefined || !isOf(state, call)) throw foreignState();
      if (state.expires < Date.now())
        throw new ProtocolError(
          rpcCodes.invalidParams,
          'requestState has expired; send the request again without requestState',
        );
      return state;
    },
  };
}

/** The state was given to this principal for this very request. */
export function isOf(state: RequestState, call: McpCall): boolean {
  return state.principal === call.caller.principal.id && state.digest === digestOf(call);
}

export function foreignState(): ProtocolError {
  return new ProtocolError(rpcCodes.invalidParams, 'Unknown requestState');
}

function digestOf({ method, params }: Pick<McpCall, 'method' | 'params'>): string {
  const { name, uri, arguments: args } = params;
  return createHash('sha256')
    .update(JSON.stringify([method, name ?? null, uri ?? null, args ?? null]))
    .digest('hex');
}
