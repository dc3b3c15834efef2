/**
 * A modern client's call on a legacy server, which asks by requests of its own: the call is parked and answered
 * `input_required`, and the client's retry resumes it with the answers.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Cancellation } from '../cancellation.ts';
import { RpcError } from '../errors.ts';
import { isObject, type JsonObject, rpcCodes } from '../json-rpc.ts';
import type { Result } from '../raw-result.ts';
import { isToldApartByRoots } from '../registry/session-ownership.ts';
import { missingCapability, ProtocolError } from './adapt-result.ts';
import { capabilityOf, nameServer, requireRoom } from './client-questions.ts';
import type { ServerCall } from './peer.ts';
import { answerTimeoutMs, type RequestStates } from './request-state.ts';

interface AskedRequest {
  method: string;
  params: JsonObject;
  resolve: (answer: JsonObject) => void;
}

interface ParkedCall {
  readonly id: string;
  /** As it was sent first. */
  readonly call: ServerCall;
  outcome: Promise<Result>;
  readonly questions: Map<string, AskedRequest>;
  asked: PromiseWithResolvers<void>;
  readonly cancel: Cancellation;
  /** Ends the call with an error of the aggregator. */
  readonly fail: (error: ProtocolError) => void;
  /** Where progress goes: the request that waits now. A retry is another request, with another token for progress. */
  current: ServerCall | undefined;
  /** What the server said while no request was there to hear it. */
  readonly unheard: { method: string; notice: JsonObject }[];
  expires: NodeJS.Timeout | undefined;
}

const maxParkedPerPrincipal = 16;
const maxUnheard = 100;
/** A server that asks several things at once does so within one turn or a few. */
const gatherMs = 15;

interface ModernToLegacyDependencies {
  send(call: ServerCall): Promise<Result>;
  states: RequestStates;
}

interface ModernToLegacy {
  send(call: ServerCall): Promise<Result>;
  /** How many calls wait for answers of their clients. */
  readonly parked: number;
  close(): void;
}

export function createModernToLegacy({ send, states }: ModernToLegacyDependencies): ModernToLegacy {
  const parked = new Map<string, ParkedCall>();

  async function sendOrResume(given: ServerCall): Promise<Result> {
    const { requestState, inputResponses, ...params } = given.params;
    const call = { ...given, params };
    const answers = isObject(inputResponses) ? inputResponses : {};
    if (requestState === undefined && needsRoots(call)) return askForRoots(call);
    const entry = requestState === undefined ? start(call) : resume(given, call, answers);
    if (entry === undefined) return await send(call);

    entry.current = call;
    for (const { method, notice } of entry.unheard.splice(0)) notifyCurrent(entry, method, notice);
    const cancel = () => entry.cancel.abort(call.signal.reason);
    call.signal.addEventListener('abort', cancel, { once: true });
    try {
      return await outcomeOrQuestions(entry);
    } catch (error) {
      finish(entry);
      const inputRequests = error instanceof RpcError ? urlElicitations(error) : undefined;
      if (inputRequests === undefined) throw error;
      return { resultType: 'input_required', inputRequests, requestState: states.seal(call, { id: 'again' }) };
    } finally {
      call.signal.removeEventListener('abort', cancel);
      entry.current = undefined;
    }
  }

  function start(call: ServerCall): ParkedCall {
    const entry = newEntry(call);
    const { modern } = call.caller;
    const sent = send({
      ...call,
      signal: entry.cancel,
      notify: (method, notice) => notifyCurrent(entry, method, notice),
      async ask(method, question, signal) {
        if (method === 'roots/list' && modern?.roots !== undefined) return modern.roots;
        return await park(entry, method, nameServer(method, question, call), signal);
      },
    });
    entry.outcome = Promise.race([sent, entry.outcome]);
    entry.outcome.catch(() => undefined); // the caller that awaits it gets the failure
    return entry;
  }

  /** Which project the call is about decides which session it goes over, so the roots are asked for first. */
  function askForRoots(call: ServerCall): JsonObject {
    const question = nameServer('roots/list', {}, call);
    const inputRequests = { [rootsKey]: { method: 'roots/list', params: question } };
    return { resultType: 'input_required', inputRequests, requestState: states.seal(call, { id: rootsKey }) };
  }

  /** Undefined where the client was sent away to begin anew. `plain`: the call without what it brought along. */
  function resume(call: ServerCall, plain: ServerCall, answers: JsonObject): ParkedCall | undefined {
    const state = states.admit(call);
    if (state.id === 'again') return undefined;
    if (state.id === rootsKey) {
      const roots = answers[rootsKey];
      call.caller.modern?.learnRoots(isObject(roots) ? roots : { roots: [] });
      return start(plain);
    }
    const entry = parked.get(state.id);
    if (entry === undefined || entry.current !== undefined) {
      throw new ProtocolError(
        rpcCodes.invalidParams,
        'The call of this requestState has ended; send the request again without requestState',
      );
    }
    clearTimeout(entry.expires);
    entry.asked = Promise.withResolvers();
    for (const [key, question] of entry.questions) {
      const answer = answers[key];
      if (!isObject(answer)) continue;
      entry.questions.delete(key);
      question.resolve(answer);
    }
    return entry;
  }

  async function outcomeOrQuestions(entry: ParkedCall): Promise<Result> {
    if (entry.questions.size > 0) return inputRequired(entry);
    const answered = await Promise.race([
      entry.outcome.then((result) => ({ result })),
      entry.asked.promise.then(() => delay(gatherMs, undefined)),
    ]);
    if (answered === undefined) return inputRequired(entry);
    finish(entry);
    return answered.result;
  }

  function inputRequired(entry: ParkedCall): JsonObject {
    const principal = entry.call.caller.principal.id;
    const waiting = [...parked.values()].filter(
      (other) => other.call.caller.principal.id === principal && isWaiting(other),
    );
    if (waiting.length >= maxParkedPerPrincipal) {
      const crowded = new ProtocolError(rpcCodes.internalError, 'Too many calls are waiting for your input');
      entry.fail(crowded);
      throw crowded;
    }
    parked.set(entry.id, entry);
    clearTimeout(entry.expires);
    entry.expires = setTimeout(() => {
      entry.cancel.abort(new DOMException('the client did not answer', 'TimeoutError'));
      finish(entry);
    }, answerTimeoutMs).unref();
    const inputRequests = Object.fromEntries(
      [...entry.questions].map(([key, { method, params }]) => [key, { method, params }]),
    );
    return { resultType: 'input_required', inputRequests, requestState: states.seal(entry.call, { id: entry.id }) };
  }

  function finish(entry: ParkedCall): void {
    clearTimeout(entry.expires);
    parked.delete(entry.id);
  }

  return {
    send: sendOrResume,
    get parked() {
      return [...parked.values()].filter(isWaiting).length;
    },
    close() {
      for (const entry of parked.values()) {
        entry.cancel.abort(new DOMException('the aggregator is shutting down', 'AbortError'));
        finish(entry);
      }
    },
  };
}

const rootsKey = 'roots';

function needsRoots({ caller, server }: ServerCall): boolean {
  const { modern, client } = caller;
  if (modern === undefined || client.capabilities.roots === undefined || !isToldApartByRoots(server)) return false;
  return modern.roots === undefined;
}

/** Until the call is sent, its outcome can only be an error of the aggregator. */
function newEntry(call: ServerCall): ParkedCall {
  const cancel = new Cancellation();
  const refused = Promise.withResolvers<never>();
  return {
    id: randomUUID(),
    call,
    outcome: refused.promise,
    questions: new Map(),
    asked: Promise.withResolvers(),
    cancel,
    fail(error) {
      refused.reject(error);
      cancel.abort(error);
    },
    current: call,
    unheard: [],
    expires: undefined,
  };
}

const isWaiting = (entry: ParkedCall) => entry.current === undefined;

function notifyCurrent({ current, unheard }: ParkedCall, method: string, notice: JsonObject): void {
  if (current === undefined) {
    if (unheard.length < maxUnheard) unheard.push({ method, notice });
    return;
  }
  const { _meta: meta } = current.params;
  const progressToken = isObject(meta) ? meta.progressToken : undefined;
  if (method !== 'notifications/progress') current.notify(method, notice);
  else if (progressToken !== undefined) current.notify(method, { ...notice, progressToken });
}

/** Resolves with the client's answer, which comes with a retry. */
async function park(
  entry: ParkedCall,
  method: string,
  params: JsonObject,
  signal: AbortSignal | undefined,
): Promise<JsonObject> {
  const capability = capabilityOf.get(method);
  if (capability !== undefined && entry.current?.caller.client.capabilities[capability] === undefined) {
    // Our shared session promises every capability; this client does not, and the new era has an error for that.
    entry.fail(missingCapability(`The server needs the client capability ${capability}`, { [capability]: {} }));
    throw new RpcError(rpcCodes.methodNotFound, `The client does not support ${capability}`);
  }
  requireRoom(entry.questions.size);
  return await new Promise((resolve, reject) => {
    const key = `${method.split('/')[0]}-${randomUUID().slice(0, 8)}`;
    entry.questions.set(key, { method, params, resolve });
    signal?.addEventListener('abort', () => {
      entry.questions.delete(key);
      reject(new RpcError(rpcCodes.internalError, 'The server cancelled its request'));
    });
    const leave = () => reject(new RpcError(rpcCodes.internalError, 'The client disconnected'));
    entry.cancel.addEventListener('abort', leave, { once: true });
    entry.asked.resolve();
  });
}

/** The old era's «open this address first» error, as the questions of the new one. */
function urlElicitations({ code, data }: RpcError): JsonObject | undefined {
  if (code !== rpcCodes.urlElicitationRequired || !isObject(data) || !Array.isArray(data.elicitations))
    return undefined;
  const questions = data.elicitations
    .filter(isObject)
    .map(({ elicitationId: _id, ...params }, number) => [
      `url-${number + 1}`,
      { method: 'elicitation/create', params: { ...params, mode: 'url' } },
    ]);
  return Object.fromEntries(questions);
}
