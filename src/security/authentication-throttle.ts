/**
 * Makes guessing tokens slow without delaying others at the same address: invalid tokens are answered late, valid ones
 * at once. Every replica counts its own.
 */
import type { Changes } from '../changes.ts';
import { AppError } from '../errors.ts';
import { interruptibleDelay } from '../interruptible-delay.ts';
import { ExpiredToken, type Principal, type RequestAuthenticator } from './auth.ts';
import { networkOf } from './client-address.ts';

type FailureOutcome = 'expired' | 'answered' | 'delayed' | 'refused';

export interface AuthenticationThrottle {
  /** `authenticate` is asked about a token, a code or whatever else can be guessed; `idOf` says who it was. */
  check<Found>(
    address: string,
    authenticate: () => Found | Promise<Found>,
    idOf: (found: Found) => string,
  ): Found | Promise<Found>;
  /** Answers all delayed requests immediately. */
  close(): void;
}

interface ThrottleOptions {
  changes: Changes;
  /** Monotonic time in milliseconds. */
  now?: () => number;
  wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** The failures of one address; they decay over time. */
interface AddressFailures {
  failures: number;
  at: number;
  waiting: number;
}

const freeFailures = 5;
const fadeMs = 60_000 / freeFailures;
const firstDelayMs = 100;
const maxDelayMs = 5_000;
/** Further failures would only extend the time until they have decayed. */
const maxFailures = freeFailures + 1 + Math.ceil(Math.log2(maxDelayMs / firstDelayMs));
const maxWaitingPerAddress = 8;
const maxWaiting = 256;
const maxAddresses = 10_000;
const maxKnown = 10_000;

export function createAuthenticationThrottle(options: ThrottleOptions): AuthenticationThrottle {
  const { changes, now = () => performance.now(), wait = waitUnlessClosed } = options;
  const closing = new AbortController();
  const records = new Map<string, AddressFailures>();
  const known = new Set<string>();
  let waiting = 0;

  const failuresIn = ({ failures, at }: AddressFailures) => Math.max(0, failures - (now() - at) / fadeMs);
  const isFull = (record: AddressFailures) =>
    failuresIn(record) > freeFailures && (record.waiting >= maxWaitingPerAddress || waiting >= maxWaiting);

  /** Where no more can wait, the answer must not tell a right guess from a wrong one, except to those who were here. */
  function admit(network: string, id: string): void {
    const visitor = `${network} ${id}`;
    if (known.has(visitor)) return;
    const record = records.get(network);
    if (record !== undefined && isFull(record)) throw tooMany();
    known.add(visitor);
    dropOldest(known, maxKnown);
  }

  function report(outcome: FailureOutcome, address: string, network: string): void {
    changes.publish('authentication.failed', { outcome, address, network });
  }

  async function fail(address: string, network: string, error: unknown): Promise<never> {
    if (!(error instanceof AppError) || error.code !== 'UNAUTHENTICATED') throw error;
    if (error instanceof ExpiredToken) {
      report('expired', address, network);
      throw error;
    }
    const record = addFailure(network);
    if (isFull(record)) {
      report('refused', address, network);
      throw tooMany();
    }
    const ms = closing.signal.aborted ? 0 : delayAfter(record.failures);
    report(ms === 0 ? 'answered' : 'delayed', address, network);
    if (ms === 0) throw error;
    record.waiting += 1;
    waiting += 1;
    await wait(ms, closing.signal);
    record.waiting -= 1;
    waiting -= 1;
    throw error;
  }

  function addFailure(network: string): AddressFailures {
    const record = records.get(network) ?? { failures: 0, at: now(), waiting: 0 };
    record.failures = Math.min(failuresIn(record) + 1, maxFailures);
    record.at = now();
    records.delete(network); // most recently used last
    records.set(network, record);
    dropOldest(records, maxAddresses);
    return record;
  }

  return {
    check(address, authenticate, idOf) {
      const network = networkOf(address);
      let outcome: ReturnType<typeof authenticate>;
      try {
        outcome = authenticate();
      } catch (error) {
        return fail(address, network, error);
      }
      if (!(outcome instanceof Promise)) {
        admit(network, idOf(outcome));
        return outcome;
      }
      return outcome.then(
        (found) => {
          admit(network, idOf(found));
          return found;
        },
        (error: unknown) => fail(address, network, error),
      );
    },
    close: () => closing.abort(),
  };
}

export interface ThrottledRequestAuthenticator extends Required<Pick<RequestAuthenticator, 'challenge' | 'attend'>> {
  authenticate(
    request: Parameters<RequestAuthenticator['authenticate']>[0] & { address: string },
  ): Principal | Promise<Principal>;
}

/** A request without a token is not a guess. */
export function throttleRequestAuthenticator(
  requestAuthenticator: RequestAuthenticator,
  throttle: AuthenticationThrottle,
): ThrottledRequestAuthenticator {
  return {
    authenticate(request) {
      if (request.authorization === undefined) return requestAuthenticator.authenticate(request);
      return throttle.check(request.address, () => requestAuthenticator.authenticate(request), principalId);
    },
    challenge: (refusal) => requestAuthenticator.challenge(refusal),
    attend: (principal) => requestAuthenticator.attend?.(principal) ?? (() => undefined),
  };
}

const principalId = ({ id }: Principal) => id;

function delayAfter(failures: number): number {
  const over = Math.ceil(failures) - freeFailures;
  return over <= 0 ? 0 : Math.min(firstDelayMs * 2 ** (over - 1), maxDelayMs);
}

function tooMany(): AppError {
  return new AppError('RATE_LIMITED', 'Too many failed sign-ins from this address; try again later', {
    retryAfterSeconds: Math.ceil(maxDelayMs / 1_000),
  });
}

function dropOldest(entries: Map<string, unknown> | Set<string>, max: number): void {
  if (entries.size <= max) return;
  const [oldest] = entries.keys();
  if (oldest !== undefined) entries.delete(oldest);
}

const waitUnlessClosed = (ms: number, signal: AbortSignal): Promise<void> =>
  interruptibleDelay(ms, signal, { ref: false });
