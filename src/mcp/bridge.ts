/**
 * Servers ask clients questions in the middle of a call: the old era by requests of their own, the new one by answering
 * `input_required` and being called again. This is where the two meet, in both directions.
 */
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Cancellation } from '../cancellation.ts';
import { AppError, RpcError } from '../errors.ts';
import { isObject, type JsonObject, rpcCodes } from '../json-rpc.ts';
import { memberOf, type Result, toObject } from '../raw-result.ts';
import type { Server } from '../registry/registry.ts';
import type { Caller } from '../routing/call.ts';
import type { RelayExchange } from '../routing/deadline.ts';
import type { Vault } from '../security/credentials.ts';
import { missingCapability, ProtocolError } from './adapt-result.ts';
import type { Call, Peer } from './peer.ts';

export type Send = (params: JsonObject, caller: Caller, exchange: RelayExchange) => Promise<Result>;

export interface Bridge {
  run(call: Call, server: Server, method: string, params: JsonObject, send: Send): Promise<Result>;
  readonly parked: number;
  close(): void;
}

interface Question {
  method: string;
  params: JsonObject;
  resolve: (answer: JsonObject) => void;
}

/** A call on a server of the old era from a client of the new one, which may have to wait for answers. */
interface ParkedCall {
  id: string;
  principal: string;
  /** Of what was asked: only the same request resumes the call. */
  digest: () => string;
  outcome: Promise<Result>;
  questions: Map<string, Question>;
  asked: PromiseWithResolvers<void>;
  cancel: Cancellation;
  /** Ends the call with an error of ours. */
  fail: (error: ProtocolError) => void;
  /** Where progress goes: the request that waits now. */
  current: Call | undefined;
  /** A retry is another request, with another token for progress. */
  progressToken: unknown;
  /** What the server said while no request was there to hear it. */
  unheard: { method: string; notice: JsonObject }[];
  expires: NodeJS.Timeout | undefined;
}

/** What a requestState of ours says, sealed: nobody else resumes with it, and nothing else. */
interface State {
  /** A parked call's, `login` or `again` for a retry that begins anew, `server` for what a server keeps itself. */
  id: string;
  digest: string;
  principal: string;
  expires: number;
  /** Whose state it is, and what it said. */
  server?: string;
  theirs?: unknown;
}

const parkedForMs = 300_000;
const maxParkedPerPrincipal = 16;
const maxRounds = 20;
const maxUnheard = 100;
/** A state of the server's own: the server says itself when it is too old; this only bounds what we vouch for. */
const serverStateMs = 86_400_000;
/** A server that asks several things at once does so within one turn or a few. */
const gatherMs = 15;

interface BridgeDependencies {
  vault: Vault;
  /** How long a session that was opened for a modern client's calls waits for the next one. */
  leaseIdleMs: number;
  release: (ownerKey: string) => Promise<void>;
}

export function createBridge({ vault, leaseIdleMs, release }: BridgeDependencies): Bridge {
  const parked = new Map<string, ParkedCall>();
  /** By owner key: in use while undefined, else the timer that ends the session. */
  const leases = new Map<string, NodeJS.Timeout | undefined>();

  async function run(call: Call, server: Server, method: string, given: JsonObject, send: Send): Promise<Result> {
    const params = withoutLoginState(call, method, given);
    try {
      return await pass(call, server, method, params, namingErrors(send, server, call));
    } catch (error) {
      const login = loginOf(error, server, call);
      if (login === undefined) throw error;
      if (call.peer.era === 'legacy') {
        const elicitations = [{ ...login, elicitationId: randomUUID() }];
        throw new ProtocolError(rpcCodes.urlElicitationRequired, login.message, { data: { elicitations } });
      }
      return {
        resultType: 'input_required',
        inputRequests: { login: { method: 'elicitation/create', params: login } },
        requestState: sealState({ id: 'login', digest: digestOf(method, params), principal: call.peer.principal.id }),
      };
    }
  }

  /** The client comes back from a login that we asked for: the server never heard of it and gets the plain request. */
  function withoutLoginState(call: Call, method: string, params: JsonObject): JsonObject {
    const state = params.requestState === undefined ? undefined : openState(params.requestState);
    if (state?.id !== 'login') return params;
    const { requestState: _state, inputResponses: _answers, ...plain } = params;
    if (state.principal !== call.peer.principal.id || state.digest !== digestOf(method, plain)) throw foreignState();
    return plain;
  }

  function admitState(call: Call, digest: string, sealed: unknown): State {
    const state = openState(sealed);
    if (state === undefined || state.principal !== call.peer.principal.id || state.digest !== digest)
      throw foreignState();
    if (state.expires < Date.now())
      throw new ProtocolError(
        rpcCodes.invalidParams,
        'requestState has expired; send the request again without requestState',
      );
    return state;
  }

  function pass(call: Call, server: Server, method: string, params: JsonObject, send: Send): Promise<Result> {
    const { peer } = call;
    if (peer.era === 'legacy') return askWithin(call, server, params, send);
    if (server.era === 'modern') return relayQuestions(call, server, method, params, send);
    return askByAnswer(call, server, method, params, send);
  }

  /** Between equals the question and the retry pass through; the state is sealed for whoever was asked. */
  async function relayQuestions(
    call: Call,
    server: Server,
    method: string,
    params: JsonObject,
    send: Send,
  ): Promise<Result> {
    const { requestState, ...plain } = params;
    const digest = () => digestOf(method, params);
    const state = requestState === undefined ? undefined : admitState(call, digest(), requestState);
    if (state !== undefined && state.server !== server.id) throw foreignState();
    const sent = state === undefined ? params : { ...plain, requestState: state.theirs };
    const answer = await send(sent, callerOf(call), exchangeOf(call));
    if (memberOf(answer, 'resultType') !== 'input_required') return answer;
    const result = toObject(answer);
    const named = nameQuestions(result, server, call);
    if (result.requestState === undefined) return named;
    const { id: principal } = call.peer.principal;
    const theirs = { server: server.id, theirs: result.requestState };
    return {
      ...named,
      requestState: sealState({ id: 'server', digest: digest(), principal, ...theirs }, serverStateMs),
    };
  }

  /** Legacy client: questions of either era become requests on the stream of its call. */
  async function askWithin(call: Call, server: Server, params: JsonObject, send: Send): Promise<Result> {
    const { ask } = call;
    const onRequest =
      ask &&
      ((method: string, question: JsonObject, signal: AbortSignal) =>
        ask(method, attributed(question, method, server, call), signal));
    let answer = await send(params, callerOf(call), exchangeOf(call, onRequest));
    for (let round = 0; memberOf(answer, 'resultType') === 'input_required'; round += 1) {
      if (onRequest === undefined || round === maxRounds)
        throw new RpcError(rpcCodes.internalError, 'Too many input requests from the server');
      const result = toObject(answer);
      const inputResponses: JsonObject = {};
      for (const [key, request] of Object.entries(isObject(result.inputRequests) ? result.inputRequests : {})) {
        if (!isObject(request)) continue;
        const question = isObject(request.params) ? request.params : {};
        inputResponses[key] = await onRequest(String(request.method), forLegacy(question), call.cancel.signal);
      }
      const state = result.requestState === undefined ? {} : { requestState: result.requestState };
      answer = await send({ ...params, inputResponses, ...state }, callerOf(call), exchangeOf(call, onRequest));
    }
    return answer;
  }

  /** Modern client, legacy server: the call is parked, and the client's retry resumes it. */
  async function askByAnswer(
    call: Call,
    server: Server,
    method: string,
    params: JsonObject,
    send: Send,
  ): Promise<Result> {
    const { requestState, inputResponses, ...plain } = params;
    const digest = () => digestOf(method, plain);
    const entry =
      requestState === undefined
        ? await start(call, server, digest, plain, send)
        : resume(call, digest(), requestState, isObject(inputResponses) ? inputResponses : {});
    if (entry === undefined) return await send(plain, callerOf(call), exchangeOf(call));

    entry.current = call;
    entry.progressToken = isObject(plain._meta) ? plain._meta.progressToken : undefined;
    for (const { method: said, notice } of entry.unheard.splice(0)) tell(entry, said, notice);
    const cancel = () => entry.cancel.abort(call.cancel.reason);
    call.cancel.addEventListener('abort', cancel, { once: true });
    try {
      if (entry.questions.size > 0) return inputRequired(entry);
      const answered = await Promise.race([
        entry.outcome.then((result) => ({ result })),
        entry.asked.promise.then(gather),
      ]);
      if (answered !== undefined) {
        finish(entry);
        return answered.result;
      }
      return inputRequired(entry);
    } catch (error) {
      finish(entry);
      const urls = error instanceof RpcError ? urlElicitations(error) : undefined;
      if (urls === undefined) throw error;
      return {
        resultType: 'input_required',
        inputRequests: urls,
        requestState: sealState({ id: 'again', digest: digest(), principal: call.peer.principal.id }),
      };
    } finally {
      call.cancel.removeEventListener('abort', cancel);
      entry.current = undefined;
    }
  }

  async function start(
    call: Call,
    server: Server,
    digest: () => string,
    params: JsonObject,
    send: Send,
  ): Promise<ParkedCall> {
    const { principal } = call.peer;
    const cancel = new Cancellation();
    const lease = canAnswer(call.peer.client.capabilities) ? takeLease(call, server) : undefined;
    const refused = Promise.withResolvers<never>();
    const entry: ParkedCall = {
      id: randomUUID(),
      principal: principal.id,
      digest,
      outcome: Promise.resolve({}),
      questions: new Map(),
      asked: Promise.withResolvers(),
      cancel,
      fail(error) {
        refused.reject(error);
        cancel.abort(error);
      },
      current: call,
      progressToken: undefined,
      unheard: [],
      expires: undefined,
    };
    const sent = send(
      params,
      { ...callerOf(call), owner: lease?.owner },
      {
        ...exchangeOf(call),
        cancel,
        onNotification: (method, notice) => tell(entry, method, notice),
        onRequest: (method, question, signal) =>
          park(entry, method, attributed(question, method, server, call), signal),
      },
    ).finally(lease?.end);
    entry.outcome = Promise.race([sent, refused.promise]);
    entry.outcome.catch(() => undefined); // whoever waits for it sees the failure
    return entry;
  }

  function tell({ current, progressToken, unheard }: ParkedCall, method: string, notice: JsonObject): void {
    if (current === undefined) {
      if (unheard.length < maxUnheard) unheard.push({ method, notice });
    } else if (method !== 'notifications/progress') {
      current.notify(method, notice);
    } else if (progressToken !== undefined) {
      current.notify(method, { ...notice, progressToken });
    }
  }

  async function park(entry: ParkedCall, method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const capability = capabilityOf[method];
    if (capability !== undefined && entry.current?.peer.client.capabilities[capability] === undefined) {
      // Our shared session promises every capability; this client does not, and the new era has an error for that.
      entry.fail(missingCapability(`The server needs the client capability ${capability}`, { [capability]: {} }));
      throw new RpcError(rpcCodes.methodNotFound, `The client does not support ${capability}`);
    }
    requireRoom(entry.questions.size);
    return await new Promise((resolve, reject) => {
      const key = `${method.split('/')[0]}-${randomUUID().slice(0, 8)}`;
      entry.questions.set(key, { method, params, resolve });
      signal.addEventListener('abort', () => {
        entry.questions.delete(key);
        reject(new RpcError(rpcCodes.internalError, 'The server cancelled its request'));
      });
      const leave = () => reject(new RpcError(rpcCodes.internalError, 'The client disconnected'));
      entry.cancel.addEventListener('abort', leave, { once: true });
      entry.asked.resolve();
    });
  }

  function resume(call: Call, digest: string, sealed: unknown, answers: JsonObject): ParkedCall | undefined {
    const state = admitState(call, digest, sealed);
    if (state.id === 'again') return undefined;
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

  function inputRequired(entry: ParkedCall): JsonObject {
    const waiting = [...parked.values()].filter((other) => other.principal === entry.principal && isWaiting(other));
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
    }, parkedForMs).unref();
    const inputRequests = Object.fromEntries(
      [...entry.questions].map(([key, { method, params }]) => [key, { method, params }]),
    );
    return {
      resultType: 'input_required',
      inputRequests,
      requestState: sealState({ id: entry.id, principal: entry.principal, digest: entry.digest() }),
    };
  }

  function finish(entry: ParkedCall): void {
    clearTimeout(entry.expires);
    parked.delete(entry.id);
  }

  /** A session that only this call uses while it lasts, so that a question on it can only be this call's. */
  function takeLease(call: Call, server: Server) {
    const { principal, client } = call.peer;
    const who = `modern:${principal.id}:${hash(JSON.stringify(client.capabilities)).slice(0, 12)}`;
    let number = 0;
    const keyOf = () => `${who}@${server.id}#${number}`;
    while (leases.has(keyOf()) && leases.get(keyOf()) === undefined) number += 1;
    const key = keyOf();
    clearTimeout(leases.get(key));
    leases.set(key, undefined);
    const owner: Caller['owner'] = { key, client, onNotification: () => undefined };
    return {
      owner,
      end: () => {
        // The next call of the same client may come soon, and a session costs a process.
        const timer = setTimeout(() => {
          leases.delete(key);
          void release(key);
        }, leaseIdleMs).unref();
        leases.set(key, timer);
      },
    };
  }

  function sealState(
    { id, digest, principal, server, theirs }: Omit<State, 'expires'>,
    lifetimeMs = parkedForMs,
  ): string {
    const state: State = { id, digest, principal, server, theirs, expires: Date.now() + lifetimeMs };
    return vault.seal(state, 'requestState');
  }

  function openState(sealed: unknown): State | undefined {
    if (typeof sealed !== 'string') return undefined;
    try {
      return vault.open(sealed, 'requestState') as State;
    } catch {
      return undefined; // tampered with, or another deployment's
    }
  }

  return {
    run,
    get parked() {
      return [...parked.values()].filter(isWaiting).length;
    },
    close() {
      for (const entry of parked.values()) {
        entry.cancel.abort(new DOMException('the aggregator is shutting down', 'AbortError'));
        finish(entry);
      }
      for (const timer of leases.values()) clearTimeout(timer);
    },
  };
}

const isWaiting = (call: ParkedCall) => call.current === undefined;

const gather = () => delay(gatherMs, undefined);

const maxQuestions = 100;

/** Before a client is asked once more. */
export function requireRoom(unanswered: number): void {
  if (unanswered >= maxQuestions)
    throw new RpcError(rpcCodes.internalError, 'Too many unanswered requests to the client');
}

export const capabilityOf: Record<string, string> = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
};

/** The login that an error asks for, as a question that this client can put to its person; undefined where it can't. */
function loginOf(error: unknown, server: Server, { peer }: Call) {
  if (!(error instanceof AppError) || error.code !== 'LOGIN_REQUIRED') return undefined;
  const url = error.context?.login_url;
  const { elicitation } = peer.client.capabilities;
  const opensUrls = peer.protocolVersion >= '2025-11-25' && isObject(elicitation) && elicitation.url !== undefined;
  if (typeof url !== 'string' || !opensUrls) return undefined;
  return { mode: 'url', message: `Log in to ${server.name} to use it`, url };
}

const askable = Object.values(capabilityOf);

function canAnswer(capabilities: JsonObject): boolean {
  return askable.some((capability) => capabilities[capability] !== undefined);
}

export function callerOf({ peer, headers, trace }: Call): Caller {
  return {
    principal: peer.principal,
    address: peer.address,
    headers,
    trace,
    client: peer.client,
    searcher: searcherOf(peer),
    owner: canAnswer(peer.client.capabilities) ? peer.owner : undefined,
  };
}

export const searcherOf = ({ owner, principal }: Peer) => owner?.key ?? principal.id;

function exchangeOf({ cancel, notify, pause }: Call, onRequest?: RelayExchange['onRequest']): RelayExchange {
  return { cancel, onNotification: notify, onRequest, onPause: pause };
}

/** Clients show who asks, and behind us they see only us: the message says whose question it is. */
function attributed(params: JsonObject, method: string, server: Server, { peer }: Call): JsonObject {
  if (peer.scope.single !== undefined) return params;
  if (method === 'elicitation/create') return { ...params, message: withServer(server, params.message) };
  return { ...params, _meta: { ...(isObject(params._meta) ? params._meta : {}), [askedBy]: server.name } };
}

const askedBy = 'mcp-aggregator/server';

const withServer = ({ name }: Server, message: unknown) =>
  typeof message === 'string' ? `[${name}] ${message}` : `[${name}]`;

/** The same for the questions in a result of the new era. */
export function nameQuestions(result: JsonObject, server: Server, call: Call): JsonObject {
  if (!isObject(result.inputRequests)) return result;
  const named = Object.entries(result.inputRequests).map(([key, request]) => {
    if (!isObject(request)) return [key, request];
    const params = isObject(request.params) ? request.params : {};
    return [key, { ...request, params: attributed(params, String(request.method), server, call) }];
  });
  return { ...result, inputRequests: Object.fromEntries(named) };
}

/** And for the addresses in the error «open this first». */
function namingErrors(send: Send, server: Server, { peer }: Call): Send {
  if (peer.scope.single !== undefined) return send;
  return async (...request) => {
    try {
      return await send(...request);
    } catch (error) {
      if (!(error instanceof RpcError) || error.code !== rpcCodes.urlElicitationRequired) throw error;
      const data = isObject(error.data) ? error.data : {};
      const elicitations = (Array.isArray(data.elicitations) ? data.elicitations : [])
        .filter(isObject)
        .map((one) => ({ ...one, message: withServer(server, one.message) }));
      throw new RpcError(error.code, withServer(server, error.message), { ...data, elicitations });
    }
  };
}

function foreignState(): ProtocolError {
  return new ProtocolError(rpcCodes.invalidParams, 'Unknown requestState');
}

/** 2025-11-25 identifies an elicitation by URL with an id that the new era no longer has. */
function forLegacy(params: JsonObject): JsonObject {
  return params.mode === 'url' && params.elicitationId === undefined
    ? { ...params, elicitationId: randomUUID() }
    : params;
}

/** The old era's «open this address first» error, as the questions of the new one. */
function urlElicitations(error: RpcError): JsonObject | undefined {
  if (
    error.code !== rpcCodes.urlElicitationRequired ||
    !isObject(error.data) ||
    !Array.isArray(error.data.elicitations)
  )
    return undefined;
  const questions = error.data.elicitations
    .filter(isObject)
    .map(({ elicitationId: _id, ...params }, number) => [
      `url-${number + 1}`,
      { method: 'elicitation/create', params: { ...params, mode: 'url' } },
    ]);
  return Object.fromEntries(questions);
}

function digestOf(method: string, { name, uri, arguments: args }: JsonObject): string {
  return hash(JSON.stringify([method, name ?? null, uri ?? null, args ?? null]));
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
