/**
 * Servers ask clients questions in the middle of a call: the old era by requests of their own, the new one by answering
 * `input_required` and being called again. This chooses the way of a call between the two eras.
 */
import { randomUUID } from 'node:crypto';
import { AppError } from '../errors.ts';
import { isObject, rpcCodes } from '../json-rpc.ts';
import { memberOf, RawResult, type Result, toObject } from '../raw-result.ts';
import type { Router } from '../routing/router.ts';
import type { Vault } from '../security/credentials.ts';
import { ProtocolError } from './adapt-result.ts';
import { nameServerInError, nameServerInResult } from './client-questions.ts';
import { sendForLegacyClient } from './legacy-to-modern.ts';
import { createModernToLegacy } from './modern-to-legacy.ts';
import type { ServerCall } from './peer.ts';
import { createRequestStates, foreignState, isOf, type RequestStates } from './request-state.ts';

export interface Bridge {
  send(call: ServerCall): Promise<Result>;
  readonly parked: number;
  close(): void;
}

interface BridgeDependencies {
  vault: Vault;
  router: Router;
}

export function createBridge({ vault, router }: BridgeDependencies): Bridge {
  const states = createRequestStates(vault);
  const modernToLegacy = createModernToLegacy({ send: sendToServer, states });

  async function send(given: ServerCall): Promise<Result> {
    const call = given.params.requestState === undefined ? given : withoutLoginState(given, states);
    try {
      if (call.caller.era === 'legacy') return await sendForLegacyClient(call, sendToServer);
      if (call.server.era === 'modern') return await sendBetweenModern(call);
      return await modernToLegacy.send(call);
    } catch (error) {
      return askForLogin(error, call, states);
    }
  }

  async function sendToServer(call: ServerCall): Promise<Result> {
    try {
      const { tool } = call;
      if (tool === undefined) return await router.relay(call);
      const { result, warning } = await router.callTool({ ...call, tool });
      return warning === undefined ? result : withWarning(result, warning);
    } catch (error) {
      throw nameServerInError(error, call);
    }
  }

  /** Between equals the question and the retry pass through; the state is sealed for the client that was asked. */
  async function sendBetweenModern(call: ServerCall): Promise<Result> {
    const { requestState, ...plain } = call.params;
    const state = requestState === undefined ? undefined : states.admit(call);
    if (state !== undefined && state.server !== call.server.id) throw foreignState();
    const answer = await sendToServer(
      state === undefined ? call : { ...call, params: { ...plain, requestState: state.theirs } },
    );
    if (memberOf(answer, 'resultType') !== 'input_required') return answer;
    const result = toObject(answer);
    const named = nameServerInResult(result, call);
    if (result.requestState === undefined) return named;
    const theirs = { id: 'server', server: call.server.id, theirs: result.requestState };
    return { ...named, requestState: states.seal(call, theirs, serverStateMs) };
  }

  return {
    send,
    get parked() {
      return modernToLegacy.parked;
    },
    close: modernToLegacy.close,
  };
}

/** A state of the server's own: the server says itself when it is too old; this only bounds what we vouch for. */
const serverStateMs = 86_400_000;

function withWarning(result: Result, warning: string): Result {
  const meta = memberOf(result, '_meta');
  const warned = { ...(isObject(meta) ? meta : {}), 'mcp-aggregator/warning': warning };
  return result instanceof RawResult
    ? result.withChanges({ _meta: JSON.stringify(warned) })
    : { ...result, _meta: warned };
}

/** The client returns from a login or key page. The server does not know of it, so it gets the request as it was first sent. */
function withoutLoginState(call: ServerCall, states: RequestStates): ServerCall {
  const state = states.open(call.params.requestState);
  if (state?.id !== 'login') return call;
  if (!isOf(state, call)) throw foreignState();
  const { requestState: _state, inputResponses: _answers, ...params } = call.params;
  return { ...call, params };
}

/** The login, or the key, that an error asks for, as a question that this client can put to its person; thrown where it can't. */
function askForLogin(error: unknown, call: ServerCall, states: RequestStates): Result {
  const { caller, server } = call;
  if (!(error instanceof AppError)) throw error;
  const { login_url, key_url, keys } = error.context ?? {};
  const url = error.code === 'LOGIN_REQUIRED' ? login_url : error.code === 'KEY_REQUIRED' ? key_url : undefined;
  const { elicitation } = caller.client.capabilities;
  const opensUrls = caller.protocolVersion >= '2025-11-25' && isObject(elicitation) && elicitation.url !== undefined;
  if (typeof url !== 'string' || !opensUrls) throw error;
  const message =
    error.code === 'KEY_REQUIRED'
      ? `Enter your ${[keys].flat().join(', ')} for ${server.name} to use it`
      : `Log in to ${server.name} to use it`;
  const login = { mode: 'url', message, url };
  if (caller.era === 'legacy') {
    const elicitations = [{ ...login, elicitationId: randomUUID() }];
    throw new ProtocolError(rpcCodes.urlElicitationRequired, login.message, { data: { elicitations } });
  }
  return {
    resultType: 'input_required',
    inputRequests: { login: { method: 'elicitation/create', params: login } },
    requestState: states.seal(call, { id: 'login' }),
  };
}
