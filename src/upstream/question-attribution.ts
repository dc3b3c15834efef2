/** For whom a server asks on a session that several callers share. */
import { toAbortSignal } from '../cancellation.ts';
import { RpcError } from '../errors.ts';
import { interruptibleDelay } from '../interruptible-delay.ts';
import { rpcCodes } from '../json-rpc.ts';
import type { Server } from '../registry/registry.ts';
import type { SessionEvents, SessionRequest } from './session.ts';

const timeoutMs = 5_000;
const pollMs = 50;

interface AttributionOptions {
  /** The record of the server as it is now. */
  current: () => Server;
  onAsked: (method: string, how: { atStart: boolean }) => void;
  /** Before the client of the request is asked: the session belongs to it. */
  onAttributed: (request: SessionRequest) => void;
}

/**
 * A question on the shared session belongs to a call for certain only while there is just one. Of several, those that are
 * answered meanwhile did not ask; one that was given up may have asked, unless the same client has another.
 */
export function createQuestionAttribution({
  current,
  onAsked,
  onAttributed,
}: AttributionOptions): SessionEvents['onRequest'] {
  let unattributed = 0;
  return async (method, params, inFlight, signal) => {
    const isRoots = method === 'roots/list';
    const candidates = inFlight().filter(isCallers);
    onAsked(method, { atStart: candidates.length === 0 });
    const left = () =>
      withoutSuperseded(
        inFlight().filter((request) => candidates.includes(request)),
        current(),
      );
    const ended = AbortSignal.any([
      ...[signal, AbortSignal.timeout(timeoutMs)],
      ...candidates.flatMap(({ signal: own }) => (own === undefined || own.aborted ? [] : toAbortSignal(own))),
    ]);
    unattributed += 1;
    // As many questions as calls: each of the calls may wait for an answer, and none would ever end.
    while (!isRoots && !ended.aborted && left().length > unattributed) {
      await interruptibleDelay(pollMs, ended);
    }
    unattributed -= 1;
    const [only, ...others] = left();
    if (only?.ask !== undefined && others.length === 0 && !ended.aborted) {
      onAttributed(only);
      return await only.ask(method, params, signal);
    }
    if (isRoots) return { roots: [] };
    throw new RpcError(rpcCodes.internalError, 'The request cannot be attributed to one client. Repeat the call.');
  };
}

/** Without what was given up by clients that wait for something else: whichever asks, they are the ones to answer. */
function withoutSuperseded(requests: readonly SessionRequest[], server: Server): SessionRequest[] {
  const isGivenUp = ({ signal }: SessionRequest) => signal?.aborted === true;
  const ownerOf = ({ caller }: SessionRequest) => caller?.owner?.(server).key;
  const waiting = new Set(requests.filter((one) => !isGivenUp(one)).map(ownerOf));
  return requests.filter((one) => !isGivenUp(one) || ownerOf(one) === undefined || !waiting.has(ownerOf(one)));
}

/** A caller's, not one of our own such as a ping. Also of a caller who cannot be asked: the question may be theirs. */
const isCallers = ({ notify }: SessionRequest) => notify !== undefined;
