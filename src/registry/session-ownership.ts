/** Whose a session with a server is, and why: by setting, else by what the server was seen to do. Pure. */
import type { Server } from './registry.ts';
import type { Ownership } from './server-choices.ts';

export interface OwnershipDecision {
  ownership: Ownership;
  /** setting: an admin chose it. observed: the server did something. inferred: its tools say so. default: none of these. */
  source: 'setting' | 'observed' | 'inferred' | 'default';
  reason: string;
}

export type DecisiveFields = Pick<Server, 'options' | 'session_evidence' | 'era' | 'transport_type' | 'user_keys'>;

/** Decided once for each value of a server's record: every call asks. */
export function ownershipOf(server: DecisiveFields): OwnershipDecision {
  const decided = decisions.get(server) ?? decide(server);
  decisions.set(server, decided);
  return decided;
}

const decisions = new WeakMap<DecisiveFields, OwnershipDecision>();

function decide(server: DecisiveFields): OwnershipDecision {
  const { options, session_evidence: evidence } = server;
  const { sessions = 'auto' } = options;
  if (sessions !== 'auto') {
    const ownership = sessions === 'per_client' ? 'client' : sessions;
    return { ownership, source: 'setting', reason: `options.sessions is ${sessions}` };
  }
  const asked = evidence.asked_at_start?.[0] ?? evidence.asked?.[0];
  if (asked !== undefined && needsSessionToAsk(server))
    return { ownership: 'client', source: 'observed', reason: `the server sent ${asked} to its client` };
  if (evidence.stateful !== undefined && keepsState(server))
    return { ownership: 'client', source: 'inferred', reason: evidence.stateful };
  if (options.credentials === 'per_principal')
    return { ownership: 'principal', source: 'setting', reason: 'options.credentials is per_principal' };
  if (server.user_keys.length > 0)
    return { ownership: 'principal', source: 'setting', reason: `each user enters ${server.user_keys.join(', ')}` };
  return { ownership: 'shared', source: 'default', reason: 'nothing shows that the server keeps state for its client' };
}

/** Each user logs in to the server, or enters keys for it. */
export function hasOwnCredentials({ options, user_keys }: Pick<Server, 'options' | 'user_keys'>): boolean {
  return options.credentials === 'per_principal' || user_keys.length > 0;
}

/** Two projects of one client program differ in their roots: a server that keeps state must not mix them up. */
export function isToldApartByRoots(server: DecisiveFields): boolean {
  const { asked_at_start: asked, stateful } = server.session_evidence;
  const wantsRoots = asked?.includes('roots/list') === true || stateful !== undefined;
  return wantsRoots && ownershipOf(server).ownership === 'client';
}

/** A modern server asks within the answer to a call. */
const needsSessionToAsk = ({ era }: DecisiveFields): boolean => era !== 'modern';

/** 2026-07-28 has no sessions over HTTP; a child process keeps what it likes. */
const keepsState = ({ era, transport_type }: DecisiveFields): boolean => era !== 'modern' || transport_type === 'STDIO';
