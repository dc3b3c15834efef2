/**
 * What a server asks right after the handshake, such as the roots of its client. A client that connects directly calls a
 * tool much later; behind us the first call follows at once, so it waits until the server has its answers.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { RpcError } from '../errors.ts';
import type { Session, SessionEvents } from './session.ts';

/** A client may have to be asked; a server that never gets its answer is called all the same. */
const maxWaitMs = 5_000;
/** How long after the handshake a server that asks may take to do so. */
const firstQuestionMs = 500;
/** Servers work on an answer for a moment: they look up the directories that it names. A slow start is a slow machine. */
const reactionShareOfStart = 0.25;
const minReactionMs = 100;
const maxReactionMs = 1_000;
const pollMs = 10;

export interface StartQuestions {
  readonly onRequest: SessionEvents['onRequest'];
  /** Resolves when the server has worked on the answers to what it asked after a start that took so long. */
  settle(session: Session, startMs: number): Promise<void>;
}

export function countStartQuestions(answer: SessionEvents['onRequest']): StartQuestions {
  let asked = 0;
  let open = 0;

  return {
    async onRequest(method, params, inFlight, signal) {
      asked += 1;
      open += 1;
      try {
        return await answer(method, params, inFlight, signal);
      } finally {
        open -= 1;
      }
    },
    async settle(session, startMs) {
      const startedAt = performance.now();
      const elapsed = () => performance.now() - startedAt;
      await ping(session);
      while ((asked === 0 && elapsed() < firstQuestionMs) || (open > 0 && elapsed() < maxWaitMs)) await delay(pollMs);
      if (asked === 0) return;
      await ping(session);
      await delay(Math.min(Math.max(startMs * reactionShareOfStart, minReactionMs), maxReactionMs));
    },
  };
}

async function ping(session: Session): Promise<void> {
  try {
    await session.request('ping', {}, { signal: AbortSignal.timeout(maxWaitMs) });
  } catch (error) {
    // An error is an answer as well.
    if (!(error instanceof RpcError) && !(error instanceof DOMException)) throw error;
  }
}
